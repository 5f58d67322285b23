//! The cohort of a thread on this machine: from the kernel, and as configured.
// Not on the portable backend: there is one cohort of each level.
#![cfg(not(feature = "portable"))]

#[path = "support/cpus.rs"]
mod cpus;

use cohort::RawLock;
use cohort::basic::{Mcs, Ticket};
use cohort::compose::{Clof, Numa, OnPages};
use cohort::door::cohorts::{Mistake, read};
use cohort::door::{Level, NODES, PAGE, cohort, distance, lowest_of, set_cohorts};
use cohort::host::{Placed, Pool};
use cpus::{allowed, stay_on};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Serialises the tests, since the configuration is the process's.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `make` in a thread on that CPU.
fn made_on<T: Send + 'static>(cpu: usize, make: impl FnOnce() -> T + Send + 'static) -> T {
    let there = move || {
        stay_on(cpu);
        make()
    };
    std::thread::spawn(there).join().expect("it does not panic")
}

/// The cohorts of a thread on that CPU, by level.
fn on(cpu: usize) -> [usize; 4] {
    made_on(cpu, || Level::REPORTED.map(cohort))
}

/// The first and the last CPU of this process, if different.
fn two() -> Option<(usize, usize)> {
    let cpus = allowed();
    let (first, last) = (*cpus.first()?, *cpus.last()?);
    (first != last).then_some((first, last))
}

/// The node of that address's memory, and the caller's node, if the kernel reports both.
fn nodes_of<T>(at: *const T) -> Option<(i32, i32)> {
    /// Requests a page's node instead of a policy.
    const NODE_OF_ADDRESS: usize = 1 | 2;
    let (mut page, mut thread) = (-1i32, 0i32);
    // SAFETY: the kernel writes one number each.
    let failed = unsafe {
        let page = &raw mut page;
        libc::syscall(libc::SYS_get_mempolicy, page, 0, 0, at, NODE_OF_ADDRESS)
            + libc::syscall(libc::SYS_getcpu, 0, &raw mut thread, 0)
    };
    (failed == 0).then_some((page, thread))
}

#[test]
fn threads_are_where_the_text_puts_them() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((one, other)) = two() else {
        eprintln!("skipped: this process may use one CPU only");
        return;
    };
    let text = format!("numa {other} # the second first\nnuma {one}\ncore {one};");
    set_cohorts(&text).expect("the text is right");
    // CPUs missing at a level form one more cohort.
    let (first, second) = (on(one), on(other));
    assert_eq!((first[0], second[0]), (0, 1), "core");
    assert_eq!((first[2], second[2]), (1, 0), "numa");
    set_cohorts("").expect("nothing is right");
    let shares = |level: Level| lowest_of(level, one) == lowest_of(level, other);
    let (first, second) = (on(one), on(other));
    for level in Level::REPORTED {
        let number = level as usize;
        assert_eq!(first[number] == second[number], shares(level), "{level:?}");
    }
}

#[test]
fn a_mistake_changes_nothing_and_is_named() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu = two().map_or(0, |(_, other)| other);
    set_cohorts(&format!("numa 1020\nnuma {cpu}")).expect("the text is right");
    for (text, line) in [
        ("numa 0\nnode 1", 2),
        ("numa 0-x", 1),
        ("# nothing\n\nnuma 7-3", 3),
        ("numa", 1),
        ("core 0; cache 1,70000", 2),
    ] {
        let mistake: Mistake = set_cohorts(text).expect_err(text);
        assert_eq!(mistake.line, line, "{text}: {mistake}");
    }
    assert_eq!(on(cpu)[2], 1);
    set_cohorts("").expect("nothing is right");
}

/// Also for cohorts within one of the kernel's nodes, and for absent ones.
#[test]
fn a_cohort_is_nearest_to_itself() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let other = two().map_or(1, |(_, other)| other);
    for text in [format!("numa 0\nnuma {other}"), String::new()] {
        set_cohorts(&text).expect("the text is right");
        let here = distance(0, 0);
        for cohort in 1..NODES {
            assert_eq!(distance(cohort, cohort), here);
            assert!(here < distance(0, cohort) && here < distance(cohort, 0));
        }
    }
}

#[test]
fn distances_are_the_kernels() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_cohorts("").expect("nothing is right");
    let folder = Path::new("/sys/devices/system/node");
    // A row has a number for each existing node.
    let there: Vec<i32> = (0..NODES as i32)
        .filter(|node| folder.join(format!("node{node}")).exists())
        .collect();
    let told = |from: i32, to: i32| {
        let row = std::fs::read_to_string(folder.join(format!("node{from}/distance"))).ok()?;
        let column = there.iter().position(|node| *node == to)?;
        row.split_whitespace().nth(column)?.parse::<u8>().ok()
    };
    let here = 0u8;
    let placed = |cpu| made_on(cpu, move || Some((cohort(Level::Numa), nodes_of(&here)?.1)));
    let cpus = allowed();
    let Some(all) = cpus.into_iter().map(placed).collect::<Option<Vec<_>>>() else {
        eprintln!("skipped: the kernel does not say where threads are");
        return;
    };
    for (one, from) in &all {
        for (other, to) in &all {
            match told(*from, *to) {
                Some(told) => assert_eq!(distance(*one, *other), told, "{from} to {to}"),
                None => eprintln!("skipped: the kernel does not say how far nodes are"),
            }
        }
    }
}

#[test]
fn cohorts_are_numbered_by_their_lines() {
    let mut seen = Vec::new();
    read("numa 4,0-1\n\ncore 2\nnuma 9", &mut |level, cohort, cpu| {
        seen.push((level, cohort, cpu));
    })
    .expect("the text is right");
    use Level::{Core, Numa};
    assert_eq!(
        seen,
        [
            (Numa, 0, 4),
            (Numa, 0, 0),
            (Numa, 0, 1),
            (Core, 0, 2),
            (Numa, 1, 9)
        ]
    );
}

#[test]
fn nodes_of_two_places_share_no_page_and_return_to_their_own() {
    type NodeWords = [u64; 8];
    static NODES: Placed<NodeWords> = Placed::new();
    const PAGE: usize = 4096;
    let take = || {
        (0..40)
            .map(|_| NODES.take())
            .collect::<Vec<&'static NodeWords>>()
    };
    let pages = |nodes: &[&NodeWords]| {
        let page = |node: &&NodeWords| std::ptr::from_ref(*node) as usize / PAGE;
        nodes.iter().map(page).collect::<BTreeSet<usize>>()
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((one, other)) = two() else {
        eprintln!("skipped: this process may use one CPU only");
        return;
    };
    set_cohorts(&format!("numa {one}\nnuma {other}")).expect("the text is right");
    let (here, there) = (made_on(one, take), made_on(other, take));
    assert!(pages(&here).is_disjoint(&pages(&there)));
    let numbers: BTreeSet<u32> = here.iter().chain(&there).map(|n| NODES.number(n)).collect();
    assert_eq!(numbers.len(), 80, "each node has a number of its own");
    for node in here.iter().chain(&there) {
        // SAFETY: its own number.
        assert!(std::ptr::eq(unsafe { NODES.at(NODES.number(node)) }, *node));
    }
    // Whichever thread returns nodes, and wherever: they are reused at their own place.
    let known = (pages(&here), pages(&there));
    let all: Vec<&'static NodeWords> = here.into_iter().chain(there).collect();
    made_on(other, move || {
        for node in all {
            // SAFETY: taken above, and unused from here on.
            unsafe { NODES.give(node) };
        }
    });
    let (here, there) = (made_on(one, take), made_on(other, take));
    assert_eq!((pages(&here), pages(&there)), known);
    set_cohorts("").expect("nothing is right");
}

#[test]
fn pages_are_in_the_memory_of_whoever_took_a_node_first() {
    static NODES: Placed<u64> = Placed::new();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for cpu in allowed() {
        match made_on(cpu, || nodes_of(NODES.take())) {
            Some((page, thread)) => assert_eq!(page, thread, "CPU {cpu}"),
            None => eprintln!("skipped: the kernel does not say where pages are"),
        }
    }
}

/// The kernel's memory policies in that range, as in its file.
fn policies(from: usize, bytes: usize) -> Option<Vec<(usize, String)>> {
    let maps = std::fs::read_to_string("/proc/self/numa_maps").ok()?;
    let line = |line: &str| {
        let mut words = line.split(' ');
        let at = usize::from_str_radix(words.next()?, 16).ok()?;
        Some((at, words.next()?.to_owned()))
    };
    let of_range = |(at, _): &(usize, String)| (from..from + bytes).contains(at);
    Some(maps.lines().filter_map(line).filter(of_range).collect())
}

#[test]
fn cohorts_on_pages_are_put_where_their_threads_run() {
    type Low = OnPages<Mcs>;
    type Lock = Clof<Low, Ticket, Numa, 128, 2>;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((one, other)) = two() else {
        eprintln!("skipped: this process may use one CPU only");
        return;
    };
    set_cohorts(&format!("numa {one}; numa {other}")).expect("the text is right");
    let lock: &'static Lock = Box::leak(Box::default());
    let (at, bytes) = (std::ptr::from_ref(lock).addr(), size_of::<Lock>());
    let use_it = move || {
        let context = Default::default();
        // SAFETY: the context serves this acquisition only; it and the lock stay until the release.
        unsafe {
            lock.acquire(&context);
            lock.release(&context);
        }
    };
    assert_eq!(at % PAGE, 0);
    let Some(before) = policies(at, bytes) else {
        eprintln!("skipped: this kernel does not show where memory is");
        return;
    };
    assert_eq!(before, [], "nothing of it has a policy of its own");
    for (cpu, cohort) in [(other, 1), (one, 0)] {
        // After the cohorts follows the high lock, also in a page.
        let begins = at + cohort * (bytes - PAGE) / 2;
        let place = made_on(cpu, move || {
            use_it();
            use_it();
            nodes_of(begins as *const u8)
        });
        let policies = policies(at, bytes).expect("it was shown before");
        if policies.is_empty() {
            eprintln!("skipped: this kernel does not let memory be placed");
            return;
        }
        let found = policies.iter().find(|(at, _)| *at == begins);
        let policy = found.map(|(_, policy)| policy.as_str());
        assert!(
            policy.is_some_and(|policy| policy.starts_with("prefer")),
            "cohort {cohort} at {begins:x}: {policies:x?}"
        );
        match place {
            Some((page, thread)) => assert_eq!(page, thread, "cohort {cohort}, CPU {cpu}"),
            None => eprintln!("skipped: the kernel does not say where pages are"),
        }
    }
    set_cohorts("").expect("nothing is right");
}
