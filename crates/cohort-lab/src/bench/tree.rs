//! A splay tree with lines of a world's memory as nodes, splayed top-down.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | the key; 0: the line's own number |
//! | 1, 2 | the left and the right child plus one; 0: as at first |
//!
//! Line 0 is not a node; it holds the root plus one. Initially the tree is perfectly balanced, with
//! its nodes in the order of their lines, or empty. Both are all zeroes, so that a large tree costs
//! nothing until it is accessed.

use crate::world::Memory;
use std::sync::Arc;

const KEY: usize = 0;
const LEFT: usize = 1;
const RIGHT: usize = 2;

/// No node.
pub const NIL: usize = 0;

/// The tree.
pub struct Tree<M: Memory> {
    memory: Arc<M>,
    nodes: usize,
}

impl<M: Memory> Tree<M> {
    /// A tree in this memory, with lines 1 to `nodes` as its initial nodes.
    pub const fn new(memory: Arc<M>, nodes: usize) -> Self {
        Self { memory, nodes }
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The root.
    pub fn root(&self) -> usize {
        match self.memory.read(0, 0) as usize {
            0 if self.nodes == 0 => NIL,
            0 => 1 << self.nodes.ilog2(),
            link => link - 1,
        }
    }

    /// Makes `node` the root.
    pub fn set_root(&self, node: usize) {
        self.memory.write(0, 0, node as u64 + 1);
    }

    /// The key of a node.
    pub fn key(&self, node: usize) -> u64 {
        match self.memory.read(node, KEY) {
            0 => node as u64,
            key => key,
        }
    }

    /// Turns a line into a node without children.
    pub fn renew(&self, node: usize, key: u64) {
        self.memory.write(node, KEY, key);
        self.set_left(node, NIL);
        self.set_right(node, NIL);
    }

    /// The left child.
    pub fn left(&self, node: usize) -> usize {
        match self.memory.read(node, LEFT) as usize {
            0 if self.nodes == 0 || half(node) == 0 => NIL,
            0 => node - half(node),
            link => link - 1,
        }
    }

    /// The right child.
    pub fn right(&self, node: usize) -> usize {
        match self.memory.read(node, RIGHT) as usize {
            0 if self.nodes == 0 || half(node) == 0 => NIL,
            0 => {
                // The topmost existing node of the subtree that a larger tree would have there.
                let mut child = node + half(node);
                while child > self.nodes && half(child) > 0 {
                    child -= half(child);
                }
                if child > self.nodes { NIL } else { child }
            }
            link => link - 1,
        }
    }

    /// Sets the left child.
    pub fn set_left(&self, node: usize, child: usize) {
        self.memory.write(node, LEFT, child as u64 + 1);
    }

    /// Sets the right child.
    pub fn set_right(&self, node: usize, child: usize) {
        self.memory.write(node, RIGHT, child as u64 + 1);
    }

    /// Splays the tree for `key`: afterwards the root has that key, or is the last node of the
    /// search. Returns the root; [`NIL`] if the tree is empty.
    pub fn splay(&self, key: u64) -> usize {
        let mut top = self.root();
        if top == NIL {
            return NIL;
        }
        // Subtrees smaller and larger than all that remains to search.
        let (mut smaller, mut larger) = (Side::new(), Side::new());
        loop {
            let at = self.key(top);
            if key < at {
                let mut child = self.left(top);
                if child == NIL {
                    break;
                }
                if key < self.key(child) {
                    self.set_left(top, self.right(child));
                    self.set_right(child, top);
                    top = child;
                    child = self.left(top);
                    if child == NIL {
                        break;
                    }
                }
                larger.hang(top, |node, child| self.set_left(node, child));
                top = child;
            } else if key > at {
                let mut child = self.right(top);
                if child == NIL {
                    break;
                }
                if key > self.key(child) {
                    self.set_right(top, self.left(child));
                    self.set_left(child, top);
                    top = child;
                    child = self.right(top);
                    if child == NIL {
                        break;
                    }
                }
                smaller.hang(top, |node, child| self.set_right(node, child));
                top = child;
            } else {
                break;
            }
        }
        smaller.hang(self.left(top), |node, child| self.set_right(node, child));
        larger.hang(self.right(top), |node, child| self.set_left(node, child));
        self.set_left(top, smaller.first);
        self.set_right(top, larger.first);
        self.set_root(top);
        top
    }
}

/// Nodes removed on the way down, each hanging below the one before.
struct Side {
    first: usize,
    last: usize,
}

impl Side {
    const fn new() -> Self {
        Self {
            first: NIL,
            last: NIL,
        }
    }

    fn hang(&mut self, node: usize, below: impl Fn(usize, usize)) {
        if self.last == NIL {
            self.first = node;
        } else {
            below(self.last, node);
        }
        self.last = node;
    }
}

/// Distance of a node's initial children.
const fn half(node: usize) -> usize {
    (1 << node.trailing_zeros()) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::native::Lines;

    /// The keys in order; checks the search property too.
    fn walk(tree: &Tree<Lines>, node: usize, keys: &mut Vec<u64>) {
        if node != NIL {
            walk(tree, tree.left(node), keys);
            keys.push(tree.key(node));
            walk(tree, tree.right(node), keys);
        }
    }

    fn keys(tree: &Tree<Lines>) -> Vec<u64> {
        let mut keys = Vec::new();
        walk(tree, tree.root(), &mut keys);
        keys
    }

    #[test]
    fn a_fresh_tree_has_every_node_once_in_order() {
        for nodes in [0, 1, 2, 3, 5, 6, 7, 12, 100, 8191, 8192] {
            let tree = Tree::new(Arc::new(Lines::zeroed(nodes + 1)), nodes);
            assert_eq!(keys(&tree), (1..=nodes as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn splaying_brings_the_key_to_the_root_and_loses_nothing() {
        let tree = Tree::new(Arc::new(Lines::zeroed(101)), 100);
        for turn in 0..1000_u64 {
            let key = turn * turn % 100 + 1;
            assert_eq!(tree.key(tree.splay(key)), key);
        }
        assert_eq!(keys(&tree), (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_key_that_is_not_there_ends_beside_its_place() {
        let tree = Tree::new(Arc::new(Lines::zeroed(8)), 7);
        assert_eq!(tree.key(tree.splay(99)), 7);
        assert_eq!(keys(&tree), (1..=7).collect::<Vec<_>>());
        let empty = Tree::new(Arc::new(Lines::zeroed(1)), 0);
        assert_eq!(empty.splay(5), NIL);
    }
}
