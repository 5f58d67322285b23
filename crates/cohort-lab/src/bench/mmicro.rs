//! `mmicro`: threads allocate a block, write to it and free it, from an allocator
//! with one lock and a splay tree of free blocks, best fit (Dice et al. 2015 §5.2).
//!
//! A block is a line. While free, its words are a tree node's; while allocated, its owner writes to
//! it outside the lock. The block freed last becomes the root and is the first to be allocated
//! again, so blocks move with the lock.

use super::knobs::cycles;
use super::player::update;
use super::tree::{NIL, Tree};
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};
use std::sync::Arc;

/// The requested size of every block, in bytes.
const SIZE: u64 = 64;

/// The words of a block that its owner writes.
const WRITTEN: usize = 4;

/// The word of a free block with the next one of its size.
const NEXT: usize = 3;

/// The word of the heap's own line with the first line never allocated.
const FRESH: usize = 1;

/// The workload.
pub enum Mmicro {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    heap: Heap<W::Memory>,
    outside: u64,
}

/// The allocator; its caller holds the lock.
struct Heap<M: Memory>(Tree<M>);

impl<M: Memory> Heap<M> {
    /// The smallest free block of at least `size` bytes, the latest of its size; otherwise a fresh
    /// one.
    fn allocate(&self, size: u64) -> usize {
        let tree = &self.0;
        let mut top = tree.splay(size);
        if top != NIL && tree.key(top) < size {
            // The next larger one is the smallest on the right.
            top = tree.right(top);
            if top != NIL {
                while tree.left(top) != NIL {
                    top = tree.left(top);
                }
                top = tree.splay(tree.key(top));
            }
        }
        if top == NIL {
            return self.carve();
        }
        let (left, right) = (tree.left(top), tree.right(top));
        match tree.memory().read(top, NEXT) as usize {
            NIL => self.join(left, right),
            next => {
                tree.set_left(next, left);
                tree.set_right(next, right);
                tree.set_root(next);
            }
        }
        top
    }

    /// Frees a block; it becomes the root.
    fn free(&self, block: usize, size: u64) {
        let tree = &self.0;
        let top = tree.splay(size);
        tree.renew(block, size);
        tree.memory().write(block, NEXT, NIL as u64);
        if top != NIL {
            let key = tree.key(top);
            if key == size {
                tree.memory().write(block, NEXT, top as u64);
                tree.set_left(block, tree.left(top));
                tree.set_right(block, tree.right(top));
            } else if key < size {
                tree.set_left(block, top);
                tree.set_right(block, tree.right(top));
                tree.set_right(top, NIL);
            } else {
                tree.set_right(block, top);
                tree.set_left(block, tree.left(top));
                tree.set_left(top, NIL);
            }
        }
        tree.set_root(block);
    }

    fn carve(&self) -> usize {
        let memory = self.0.memory();
        let fresh = memory.read(0, FRESH);
        memory.write(0, FRESH, fresh + 1);
        fresh as usize + 1
    }

    /// Joins two trees with all their keys in order.
    fn join(&self, left: usize, right: usize) {
        let tree = &self.0;
        if left == NIL {
            tree.set_root(right);
            return;
        }
        tree.set_root(left);
        let top = tree.splay(u64::MAX);
        tree.set_right(top, right);
    }
}

impl Workload for Mmicro {
    const NAME: &'static str = "mmicro";
    const ABOUT: &'static str =
        "allocate, write and free blocks of a best-fit splay-tree allocator with one lock";
    const SOURCE: &'static str = "Dice et al. 2015 §5.2";
    const OPERATION: &'static str = "malloc-free pair";
    const TAKES: &'static [&'static str] = &["outside"];
    const DEFAULTS: Knobs = Knobs {
        outside: Some(Span::Nanoseconds(4_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        // Each thread has at most one block, beside the heap's own line.
        let lines = setting.threads + 1;
        let guarded = Guarded::new(world, &setting.lock, 0, setting.threads, lines);
        Shared {
            heap: Heap(Tree::new(Arc::clone(guarded.shared()), 0)),
            guarded,
            outside: cycles(setting.knobs.outside, world.hertz()),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            let block = player.section(&shared.guarded, |_| shared.heap.allocate(SIZE));
            update(shared.guarded.data(), block, WRITTEN);
            player.idle_about(shared.outside);
            player.section(&shared.guarded, |_| shared.heap.free(block, SIZE));
            player.done();
            player.idle_about(shared.outside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::native::Lines;

    #[test]
    fn the_smallest_block_that_fits_is_taken_and_the_last_freed_first() {
        let heap = Heap(Tree::new(Arc::new(Lines::zeroed(20)), 0));
        let sizes = [64, 128, 64, 256, 32, 64, 512];
        let blocks = sizes.map(|size| heap.allocate(size));
        assert_eq!(blocks, [1, 2, 3, 4, 5, 6, 7]);
        for (block, size) in blocks.into_iter().zip(sizes) {
            heap.free(block, size);
        }
        assert_eq!(heap.allocate(64), 6);
        assert_eq!(heap.allocate(64), 3);
        assert_eq!(heap.allocate(100), 2);
        assert_eq!(heap.allocate(60), 1);
        assert_eq!(heap.allocate(300), 7);
        assert_eq!(heap.allocate(1), 5);
        assert_eq!(heap.allocate(64), 4);
        assert_eq!(heap.allocate(64), 8);
    }
}
