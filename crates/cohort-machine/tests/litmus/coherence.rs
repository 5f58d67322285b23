//! What loads, stores and read-modify-writes cost.

use crate::{INSTRUCTION, machine, program, run, time};
use cohort_machine::{Memory, Thread, door};
use std::cell::Cell;

/// One access of one kind.
#[derive(Clone, Copy)]
enum Access {
    Load,
    /// A store, until it is complete: the fence's own cost is taken off.
    Store,
    Rmw,
}
use Access::{Load, Rmw, Store};

fn access(thread: &Thread, line: usize, access: Access) {
    match access {
        Load => thread.read(line),
        Store => {
            thread.write(line);
            door::fence();
        }
        Rmw => door::read_modify_write(line, || true),
    }
}

/// What the last of several accesses to one line costs, each by a CPU once the one
/// before it is long complete.
fn last(changes: &[(&str, &str)], accesses: &[(usize, Access)]) -> u64 {
    let hardware = machine(changes);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let cost = Cell::new(0);
    let programs = (0..4).map(|cpu| {
        let cost = &cost;
        program(move |thread| {
            for (turn, (actor, kind)) in accesses.iter().enumerate() {
                thread.work((1000 * (turn as u64 + 1)).saturating_sub(thread.cycles()));
                if *actor == cpu {
                    let took = time(thread, || access(thread, line, *kind));
                    let fence = if matches!(kind, Store) { 20 } else { 0 };
                    cost.set(took - INSTRUCTION - fence);
                }
            }
        })
    });
    run(&hardware, &memory, programs.collect());
    cost.get()
}

const MESIF: &[(&str, &str)] = &[("\"MESI\"", "\"MESIF\"")];
const MOESI: &[(&str, &str)] = &[("\"MESI\"", "\"MOESI\"")];

#[test]
fn the_first_touch_comes_from_the_own_memory_and_the_next_from_the_cache() {
    assert_eq!(last(&[], &[(0, Load)]), 150);
    assert_eq!(last(&[], &[(0, Rmw)]), 150);
    assert_eq!(last(&[], &[(0, Load), (0, Load)]), 4);
    assert_eq!(last(&[], &[(0, Load), (0, Rmw)]), 10);
    assert_eq!(last(&[], &[(0, Rmw), (0, Load)]), 4);
}

#[test]
fn a_modified_line_costs_its_distance() {
    assert_eq!(last(&[], &[(0, Rmw), (1, Load)]), 40);
    assert_eq!(last(&[], &[(0, Rmw), (2, Load)]), 100);
    assert_eq!(last(&[], &[(0, Rmw), (1, Store)]), 44);
    assert_eq!(last(&[], &[(0, Rmw), (2, Store)]), 110);
    assert_eq!(last(&[], &[(0, Rmw), (1, Rmw)]), 50);
    assert_eq!(last(&[], &[(0, Rmw), (2, Rmw)]), 120);
}

#[test]
fn an_unmodified_line_is_cheaper_and_comes_from_the_nearest() {
    assert_eq!(last(&[], &[(0, Load), (1, Load)]), 30);
    assert_eq!(last(&[], &[(0, Load), (2, Load)]), 90);
    assert_eq!(last(&[], &[(0, Load), (2, Load), (3, Load)]), 30);
}

#[test]
fn under_moesi_the_owner_supplies_what_it_modified() {
    assert_eq!(last(MOESI, &[(0, Rmw), (2, Load)]), 100);
    assert_eq!(last(MOESI, &[(0, Rmw), (2, Load), (1, Load)]), 30);
}

/// What one core of a chip has fetched from another, its last-level cache has for the next core of the
/// chip, whatever the protocol between chips.
#[test]
fn a_second_core_reads_at_the_cost_of_its_own_last_level_cache() {
    for protocol in [&[], MESIF, MOESI] {
        let fetched = [(0, Rmw), (2, Load), (3, Load)];
        assert_eq!(last(protocol, &fetched), 30);
    }
}

/// How long it takes until so many readers in each of eight packages have a line that one CPU modified.
fn spread(protocol: &str, readers: usize) -> u64 {
    let cpus = format!("package:8 core:{readers} pu:1");
    let changes = [
        ("package:2 core:2 pu:1", cpus.as_str()),
        ("\"MESI\"", protocol),
    ];
    let hardware = machine(&changes);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let ends = Cell::new(0);
    let programs = (0..8 * readers).map(|cpu| {
        let ends = &ends;
        program(move |thread| {
            if cpu == 0 {
                access(thread, line, Rmw);
                return;
            }
            thread.work(1000);
            access(thread, line, Load);
            ends.set(ends.get().max(thread.cycles()));
        })
    });
    run(&hardware, &memory, programs.collect());
    ends.get() - 1000
}

/// Eight packages with n readers each take longer with each package more, but not with each reader of all of
/// them: behind each last-level cache readers wait for each other alone.
#[test]
fn packages_serve_their_readers_side_by_side() {
    for protocol in ["\"MESI\"", "\"MESIF\"", "\"MOESI\""] {
        let [two, ten] = [2, 10].map(|readers| spread(protocol, readers));
        // 64 readers more, eight behind each cache, at 5 cycles each.
        assert!(ten - two <= 8 * 5 + 10, "{protocol}: {two} and {ten}");
        assert!(ten > two, "{protocol}: {two} and {ten}");
    }
}

#[test]
fn under_mesif_the_last_reader_forwards_to_other_packages() {
    // CPU 0 modified it and CPU 1 read it last: CPU 2 gets it from there.
    assert_eq!(last(MESIF, &[(0, Rmw), (1, Load), (2, Load)]), 90);
    assert_eq!(last(MOESI, &[(0, Rmw), (1, Load), (2, Load)]), 100);
}

#[test]
fn a_sharer_that_writes_waits_for_the_farthest_and_a_little_for_each_other() {
    // The own cost, the invalidation, and 3 for each sharer beyond the first.
    let shared = [(0, Load), (1, Load), (0, Rmw)];
    assert_eq!(last(&[], &shared), 10 + 20);
    let far = [(0, Load), (1, Load), (2, Load), (0, Rmw)];
    assert_eq!(last(&[], &far), 10 + 60 + 3);
    let all = [(0, Load), (1, Load), (2, Load), (3, Load), (0, Rmw)];
    assert_eq!(last(&[], &all), 10 + 60 + 2 * 3);
}

#[test]
fn a_cache_without_a_copy_fetches_and_invalidates_at_once() {
    // The nearest sharer's transfer is shorter than the farthest's invalidation.
    assert_eq!(last(&[], &[(1, Load), (2, Load), (0, Rmw)]), 60 + 3);
    assert_eq!(last(&[], &[(1, Load), (0, Rmw)]), 50);
}

#[test]
fn a_line_that_fell_out_is_refilled_from_the_last_level_cache() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let lines: Vec<usize> = (0..14).map(|_| memory.bytes(1)).collect();
    let lines = &lines;
    let body = program(move |thread| {
        let load = |line: usize| time(thread, || thread.read(lines[line])) - INSTRUCTION;
        for line in 0..5 {
            assert_eq!(load(line), 150);
        }
        // Four lines fit: the first fell out, and comes back for the second.
        assert_eq!(load(4), 4);
        assert_eq!(load(0), 25);
        assert_eq!(load(2), 4);
        // The last level keeps eight: what fell out of it comes from memory.
        for line in 5..14 {
            assert_eq!(load(line), 150);
        }
        assert_eq!(load(13), 4);
        assert_eq!(load(9), 25);
        assert_eq!(load(1), 150);
    });
    let outcome = run(&hardware, &memory, vec![body]);
    assert_eq!(outcome.refills.data, 2);
    assert_eq!(outcome.memory.data, 15);
}

#[test]
fn requests_for_a_line_queue() {
    let cost = |kind: Access| {
        let hardware = machine(&[]);
        let memory = Memory::new();
        let line = memory.bytes(1);
        let costs = [Cell::new(0), Cell::new(0), Cell::new(0)];
        let programs = (0..3).map(|cpu| {
            let costs = &costs;
            program(move |thread| {
                if cpu == 0 {
                    access(thread, line, Rmw);
                    return;
                }
                thread.work(1000 + cpu as u64);
                costs[cpu].set(time(thread, || access(thread, line, kind)) - INSTRUCTION);
            })
        });
        run(&hardware, &memory, programs.collect());
        [costs[1].get(), costs[2].get()]
    };
    // The second load waits for as long as the first occupies the line, the second
    // read-modify-write until the first is complete; it comes a cycle later.  Once
    // loaded, the line is unmodified.
    assert_eq!(cost(Load), [40, 5 - 1 + 90]);
    assert_eq!(cost(Rmw), [50, 50 - 1 + 120]);
}

#[test]
fn stores_wait_in_the_buffer() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let lines: Vec<usize> = (0..3).map(|_| memory.bytes(1)).collect();
    let lines = &lines;
    let writer = program(move |thread| {
        thread.work(1000);
        let store = |line: usize| time(thread, || thread.write(lines[line])) - INSTRUCTION;
        // Two fit; the third waits for the first, which takes 150 from its own
        // memory and began 2 × 3 cycles earlier.
        assert_eq!(store(0), 1);
        assert_eq!(store(1), 1);
        assert_eq!(store(2), 150 - 6);
        // What is left takes until the last began, 3 cycles after the second.
        let fence = time(thread, door::fence) - INSTRUCTION;
        assert_eq!(fence, 6 - INSTRUCTION + 20);
    });
    run(&hardware, &memory, vec![writer]);
}

#[test]
fn links_carry_one_transfer_at_a_time() {
    let link = "[scheduler]";
    let with_link = "[[link]]\nbetween = \"package\"\nshape = \"pair\"\n\
        occupancy = { cycles = 70, source = \"estimate\", note = \"round\" }\n\n[scheduler]";
    let hardware = machine(&[(link, with_link)]);
    let memory = Memory::new();
    let lines = [memory.bytes(1), memory.bytes(1)];
    let costs = [Cell::new(0), Cell::new(0)];
    let programs = (0..4).map(|cpu| {
        let costs = &costs;
        program(move |thread| {
            if cpu < 2 {
                access(thread, lines[cpu], Rmw);
                return;
            }
            thread.work(1000 + cpu as u64);
            costs[cpu - 2].set(time(thread, || thread.read(lines[cpu - 2])) - INSTRUCTION);
        })
    });
    let outcome = run(&hardware, &memory, programs.collect());
    assert_eq!(costs.map(|cost| cost.get()), [100, 70 - 1 + 100]);
    assert_eq!(outcome.links.len(), 1);
}

/// Read-modify-writes are pairs of a load-linked and a store-conditional.
const CONDITIONAL: [(&str, &str); 2] = [
    ("\"native\"", "\"ll/sc\""),
    (
        "store-buffer =",
        "failed-conditional = { cycles = 7, source = \"estimate\", note = \"round\" }\nstore-buffer =",
    ),
];

#[test]
fn a_reservation_is_lost_when_another_writes() {
    // Alone: a load that hits, and a read-modify-write that hits.
    assert_eq!(
        last(&CONDITIONAL, &[(0, Rmw), (0, Rmw)]),
        4 + INSTRUCTION + 10
    );
    let hardware = machine(&CONDITIONAL);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let programs = (0..2).map(|_| {
        program(move |thread| {
            thread.work(1000);
            for _ in 0..10 {
                access(thread, line, Rmw);
            }
        })
    });
    let outcome = run(&hardware, &memory, programs.collect());
    assert!(outcome.events.failed_conditionals > 0);
}

#[test]
fn load_linkeds_that_wait_for_a_line_do_not_hold_up_its_holder() {
    let [native, failed] = CONDITIONAL;
    let changes = [
        native,
        failed,
        ("occupancy = { cycles = 5,", "occupancy = { cycles = 40,"),
        ("occupancy = { cycles = 10,", "occupancy = { cycles = 80,"),
    ];
    let hardware = machine(&changes);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let costs = [const { Cell::new(0) }; 4];
    let programs = (0..4).map(|cpu| {
        let costs = &costs;
        program(move |thread| {
            // CPU 0 modifies the line; then 2, 3 and 1 ask for it, a cycle apart.
            thread.work([0, 1002, 1000, 1001][cpu]);
            costs[cpu].set(time(thread, || access(thread, line, Rmw)));
        })
    });
    let outcome = run(&hardware, &memory, programs.collect());
    // 2 loads from 1002 to 1102, which keeps the line until 1082.  Then 3 loads until
    // 1112, and keeps the line until 1122; only then is it 1's turn.  But at 1104 comes
    // the store of 2, which waits for 3 and not for 1: it takes the line from 1122 on,
    // from two others.
    assert_eq!(costs[2].get(), 1122 + 10 + 60 + 3 - 1000);
    // So 1 waits until 1195, loads until 1295 and stores; 3 has failed at 1114, asked
    // anew at 1123 behind 1, and loaded until 1305, keeping the line until 1315.
    assert_eq!(costs[1].get(), 1315 + 10 + 60 + 3 - 1002);
    // It fails again, waits for that, loads until 1488 and stores.
    assert_eq!(costs[3].get(), 1488 + INSTRUCTION + 10 + 60 - 1001);
    assert_eq!(outcome.events.failed_conditionals, 2);
    let transfers = outcome.transfers.iter();
    let transfers: Vec<u64> = transfers.map(|one| one.count.data).collect();
    assert_eq!(transfers, [2, 3]);
}

#[test]
fn a_contended_pair_gets_on() {
    // A line that comes from far away for long: CPU 0 has it, and stores to it again and again before
    // the load-linked of CPU 2 has been followed by its store.
    let hardware = machine(&CONDITIONAL);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let modified = Cell::new(0);
    let done = Cell::new(false);
    let programs = (0..3).map(|cpu| {
        let (modified, done) = (&modified, &done);
        program(move |thread| match cpu {
            0 => {
                while !done.get() && modified.get() < 10_000 {
                    access(thread, line, Rmw);
                    modified.set(modified.get() + 1);
                }
            }
            1 => {}
            _ => {
                thread.work(1000);
                modified.set(0);
                access(thread, line, Rmw);
                done.set(true);
            }
        })
    });
    let outcome = run(&hardware, &memory, programs.collect());
    // It fails a few times, and then has its turn.
    assert!(outcome.events.failed_conditionals >= 4);
    assert!(
        modified.get() < 200,
        "{} pairs of another CPU before it",
        modified.get()
    );
}

#[test]
fn a_read_modify_write_that_waits_for_stores_keeps_no_line_meanwhile() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let lines = [memory.bytes(1), memory.bytes(1)];
    let costs = [const { Cell::new(0) }; 3];
    let programs = (0..3).map(|cpu| {
        let costs = &costs;
        program(move |thread| {
            // CPU 1 has one line, and 2 in the other package has the other.
            if cpu > 0 {
                access(thread, lines[cpu - 1], Rmw);
            }
            let begin = [1000, 1006, 0][cpu];
            thread.work(begin - thread.cycles().min(begin));
            if cpu == 0 {
                thread.write(lines[1]);
            }
            if cpu < 2 {
                costs[cpu].set(time(thread, || access(thread, lines[0], Rmw)));
            }
        })
    });
    run(&hardware, &memory, programs.collect());
    // The store of 0 is under way from 1002 to 1112, so 1 still has its line at 1008.
    assert_eq!(costs[1].get(), INSTRUCTION + 10);
    assert_eq!(costs[0].get(), 1112 + 50 - 1003);
}

#[test]
fn a_copy_can_be_read_while_a_store_to_it_is_under_way() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let cost = &Cell::new(0);
    let programs = (0..3).map(|cpu| {
        program(move |thread| {
            // CPU 2, in the other package, has a copy that it must give up.
            if cpu == 2 {
                thread.read(line);
            }
            if cpu == 0 {
                thread.work(1000);
                thread.read(line);
                thread.write(line);
                cost.set(time(thread, || thread.read(line)));
            }
        })
    });
    run(&hardware, &memory, programs.collect());
    assert_eq!(cost.get(), INSTRUCTION + 4);
}
