//! Each mistake in a file is reported by line, column and key.

use super::super::{Machine, shipped};

/// A valid file with every kind of entry.
fn sound() -> String {
    shipped::MACHINES
        .iter()
        .find(|file| file.name == "kunpeng-920x2")
        .unwrap()
        .text
        .to_owned()
}

/// The message for the valid file with `old` replaced once by `new`: its line, and its text without
/// line and column.
fn complaint(old: &str, new: &str) -> (usize, String) {
    let text = sound();
    assert_eq!(
        text.matches(old).count(),
        1,
        "`{old}` does not stand there once"
    );
    let complaint = Machine::parse(&text.replacen(old, new, 1)).unwrap_err();
    (complaint.line, complaint.message)
}

/// The line, from 1, that contains `what`.
fn line_of(what: &str) -> usize {
    let text = sound();
    let before = &text[..text.find(what).unwrap()];
    before.matches('\n').count() + 1
}

#[test]
fn a_figure_says_what_is_wrong_with_it() {
    let old = "pause = { cycles = 2, range = [1, 4],";
    let line = line_of(old);
    for (new, expected) in [
        (
            "pause = { cycles = -2,",
            "`pause`: found `cycles = -2`, expected 0 to 1000000000",
        ),
        (
            "pause = { ns = 2,",
            "`pause`: unknown field `ns`, expected one of `cycles`",
        ),
        ("pause = { cylces = 2,", "did you mean `cycles`?"),
        (
            "pause = { cycles = 9000000000000000000,",
            "expected 0 to 1000000000",
        ),
        (
            "pause = { cycles = 2.5,",
            "`pause`: invalid type: floating point `2.5`",
        ),
        ("pause = { cycles = \"2\",", "`pause`: invalid type: string"),
        ("pause = {", "`pause`: missing field `cycles`"),
        (
            "pause = { cycles = 2, cycles = 3, range = [1, 4],",
            "duplicate key",
        ),
        ("puase = { cycles = 2,", "unknown field `puase`"),
        ("puase = { cycles = 2,", "did you mean `pause`?"),
    ] {
        let (at, message) = complaint(old, new);
        assert!(message.contains(expected), "{new}: {message}");
        assert_eq!(at, line, "{new}: {message}");
    }
}

#[test]
fn a_figure_without_a_known_source_and_a_note_is_refused() {
    let old = "source = \"vendor\", note = \"L1\" }";
    for (new, expected) in [
        (
            "source = \"rumour\", note = \"L1\" }",
            "unknown variant `rumour`",
        ),
        (
            "source = \"vendro\", note = \"L1\" }",
            "did you mean `vendor`?",
        ),
        ("note = \"L1\" }", "missing field `source`"),
        ("source = \"vendor\" }", "missing field `note`"),
        ("source = \"vendor\", note = \" \" }", "found an empty note"),
    ] {
        let (line, message) = complaint(old, new);
        assert!(message.contains(expected), "{new}: {message}");
        assert!(message.contains("`load`"), "{new}: {message}");
        assert_eq!(line, line_of(old), "{new}: {message}");
    }
}

/// A loop of accesses that cost nothing would be simulated for ever.
#[test]
fn a_machine_whose_loops_take_no_time_is_refused() {
    let instruction = (
        "instruction = { cycles = 2, range = [1, 4],",
        "instruction = { cycles = 0,",
    );
    let hit = (
        "store = { cycles = 1, range = [1, 3],",
        "store = { cycles = 0,",
    );
    for (old, new) in [instruction, hit] {
        assert!(Machine::parse(&sound().replacen(old, new, 1)).is_ok());
    }
    let text = sound().replacen(instruction.0, instruction.1, 1);
    let complaint = Machine::parse(&text.replacen(hit.0, hit.1, 1)).unwrap_err();
    assert_eq!(complaint.line, line_of("[costs]"));
    let start = "found `instruction` and the hit's `store` of 0 cycles, expected 1 or more";
    assert!(complaint.message.starts_with(start), "{complaint}");
}

#[test]
fn parts_that_do_not_fit_together_are_told_where_they_stand() {
    for (old, new, expected) in [
        (
            "name = \"kunpeng-920x2\"",
            "name = \"two words\"",
            "found the name `two words`",
        ),
        (
            "core:4 pu:1",
            "core:4 pu:0",
            "found `pu:0`, expected a count",
        ),
        (
            "core:4 pu:1",
            "core:4 pu:2",
            "expected [smt]: a core of this hierarchy has 2 CPUs",
        ),
        (
            "\"consecutive\"",
            "\"random\"",
            "found `random`, expected `consecutive`",
        ),
        (
            "\"consecutive\"",
            "[0, 1]",
            "found 2 CPU numbers, expected 128",
        ),
        (
            "\"consecutive\"",
            "7",
            "expected `consecutive`, `threads-apart` or a list",
        ),
        ("is = \"MESI\"", "is = \"MOSEI\"", "did you mean `MOESI`?"),
        (
            "count = 64,",
            "count = 60,",
            "found lines of 60 bytes, expected a power of two",
        ),
        (
            "failed-conditional =",
            "# failed-conditional =",
            "expected `failed-conditional`",
        ),
        (
            "is = \"ll/sc\"",
            "is = \"native\"",
            "found `failed-conditional`, expected none",
        ),
        (
            "within = \"cache\"",
            "within = \"core\"",
            "found a transfer within `core`, expected none",
        ),
        (
            "within = \"cache\"",
            "within = \"chache\"",
            "did you mean `cache`?",
        ),
        (
            "within = \"cache\"",
            "within = \"cache\"\nhops = 2",
            "found `hops = 2` within `cache`, expected 0",
        ),
        (
            "of = \"numa\"",
            "of = \"blade\"",
            "found the level `blade`, expected one of this machine's",
        ),
        (
            "private-to = \"core\"",
            "private-to = \"package\"",
            "expected the second level to hold the first",
        ),
        (
            "shared-by = \"numa\"",
            "shared-by = \"nmua\"",
            "did you mean `numa`?",
        ),
        (
            "between = \"numa\"",
            "between = \"system\"",
            "found a link between cohorts of `system`",
        ),
        ("[scheduler]", "[sheduler]", "did you mean `scheduler`?"),
        (
            "[invalidation]",
            "[hops]\nbetween = \"package\"\nmatrix = [[0]]\nsource = \"paper\"\nnote = \"x\"\n\n[invalidation]",
            "found a matrix of 1 rows with 1 entries, expected 2 of 2",
        ),
        (
            "[invalidation]",
            "[smt]\nslowdown = { ratios = [1.0], source = \"estimate\", note = \"x\" }\nspinning = { ratio = 1.0, source = \"estimate\", note = \"x\" }\n\n[invalidation]",
            "found [smt], expected none",
        ),
        (
            "[invalidation]",
            "[[class]]\nname = \"little\"\ncpus = [120, 128]\nslowdown = { ratio = 2.0, source = \"estimate\", note = \"x\" }\n\n[invalidation]",
            "found the CPUs 120 to 128, expected",
        ),
        (
            "[invalidation]",
            "[[class]]\nname = \"big\"\ncpus = [120, 127]\nslowdown = { ratio = 0.5, source = \"estimate\", note = \"x\" }\n\n[invalidation]",
            "found a slowdown of 0.5, expected 1 or more",
        ),
    ] {
        let (line, message) = complaint(old, new);
        assert!(message.contains(expected), "{new}: {message}");
        // A missing or superfluous entry is reported at the head of its table, or at its use.
        let head = sound()[..sound().find(old).unwrap()]
            .rfind("\n[")
            .map_or(0, |head| head + 1);
        let head = sound()[..head].matches('\n').count() + 1;
        let mut places = vec![head];
        places.extend(["hierarchy =", "numbering =", "[costs]"].map(line_of));
        places.extend(line_of(old)..=line_of(old) + new.matches('\n').count());
        assert!(
            places.contains(&line),
            "{new}: told at {line}, not in {places:?}: {message}"
        );
    }
}

#[test]
fn the_level_of_memory_decides_which_transfers_have_a_cost_of_it() {
    let head = |within: &str| line_of(&format!("within = \"{within}\"")) - 1;
    let (line, message) = complaint("of = \"numa\"", "of = \"package\"");
    assert!(message.starts_with("found `memory` for the transfer within `package`"));
    assert_eq!(line, head("package"));
    let (line, message) = complaint("of = \"numa\"", "of = \"cache\"");
    assert!(message.starts_with("expected `memory` for the transfer within `numa`"));
    assert_eq!(line, head("numa"));
}

#[test]
fn each_level_has_one_kind_of_link() {
    let (line, message) = complaint("between = \"numa\"", "between = \"package\"");
    assert!(message.starts_with("found a second link between cohorts of `package`"));
    assert_eq!(line, line_of("between = \"package\"") - 1);
}

#[test]
fn every_distance_needs_one_transfer() {
    let text = sound();
    let start = text.find("[[transfer]]\nwithin = \"numa\"").unwrap();
    let length = text[start + 1..].find("[[transfer]]").unwrap() + 1;
    let block = &text[start..start + length];
    let without = text.replacen(block, "", 1);
    let message = Machine::parse(&without).unwrap_err().message;
    assert_eq!(message, "expected a [[transfer]] within `numa`");
    let twice = text.replacen(block, &block.repeat(2), 1);
    let message = Machine::parse(&twice).unwrap_err().message;
    assert_eq!(message, "found 2 transfers within `numa`, expected one");
}

#[test]
fn a_matrix_of_hops_must_be_one() {
    let text = sound().replace(
        "package:2 numa:2 cache:8 core:4",
        "package:4 numa:1 cache:1 core:1",
    );
    for (matrix, expected) in [
        (
            "[[0,1,1,1],[1,0,1,1],[1,1,0,1],[1,2,1,0]]",
            "found 1 hops from 1 to 3 and 2 back",
        ),
        (
            "[[0,1,1,1],[1,0,1,1],[1,1,1,1],[1,1,1,0]]",
            "found 1 hops from 2 to 2, expected 0",
        ),
        (
            "[[0,1,0,1],[1,0,1,1],[0,1,0,1],[1,1,1,0]]",
            "found 0 hops from 0 to 2, expected 0 from",
        ),
        (
            "[[0,3,1,1],[3,0,1,1],[1,1,0,1],[1,1,1,0]]",
            "found 3 hops from 0 to 1, expected a neighbour of 0",
        ),
        (
            "[[0,1,1],[1,0,1],[1,1,0]]",
            "found a matrix of 3 rows with 3 entries, expected 4 of 4",
        ),
    ] {
        let hops = format!(
            "[hops]\nbetween = \"package\"\nmatrix = {matrix}\nsource = \"paper\"\nnote = \"x\"\n\n[invalidation]"
        );
        let message = Machine::parse(&text.replace("[invalidation]", &hops))
            .unwrap_err()
            .message;
        assert!(message.contains(expected), "{matrix}: {message}");
    }
}

#[test]
fn a_file_that_is_no_toml_is_told_by_line() {
    let complaint = Machine::parse("name = \"x\"\n= nonsense\n").unwrap_err();
    assert_eq!(complaint.line, 2);
    assert_eq!(Machine::parse("").unwrap_err().line, 1);
}

#[test]
fn the_fingerprint_follows_the_text() {
    let one = Machine::parse(&sound()).unwrap();
    let other = Machine::parse(&format!("{}\n", sound())).unwrap();
    assert_eq!(one.fingerprint.len(), 12);
    assert_ne!(one.fingerprint, other.fingerprint);
}

/// What was tuned on a machine stays true when an estimate gets a range.
#[test]
fn the_fingerprint_ignores_ranges_alone() {
    let fingerprint = |text: &str| Machine::parse(text).unwrap().fingerprint;
    let changed = |old: &str, new: &str| fingerprint(&sound().replacen(old, new, 1));
    let pause = "pause = { cycles = 2, range = [1, 4], ";
    assert_eq!(
        changed(pause, "pause = { cycles = 2, "),
        fingerprint(&sound())
    );
    assert_eq!(
        changed(pause, "pause = { cycles = 2, range = [0, 9], "),
        fingerprint(&sound())
    );
    assert_ne!(
        changed(pause, "pause = { cycles = 3, range = [1, 4], "),
        fingerprint(&sound())
    );
}

#[test]
fn a_range_fits_its_figure() {
    let old = "pause = { cycles = 2, range = [1, 4],";
    let line = line_of(old);
    for (new, expected) in [
        (
            "pause = { cycles = 2, range = [4, 1],",
            "found the range 4 to 1, expected the least value first: swap them",
        ),
        (
            "pause = { cycles = 5, range = [1, 4],",
            "found `cycles = 5` outside of its range 1 to 4, expected it inside",
        ),
        (
            "pause = { cycles = 2, range = [2, 2],",
            "found a range from 2 to 2, expected two values that differ: remove the range",
        ),
        (
            "pause = { cycles = 2, range = [1],",
            "found a range of 1 values, expected the least and the greatest",
        ),
        (
            "pause = { cycles = 2, range = [1, -4],",
            "found `cycles = -4`, expected 0 to",
        ),
        (
            "pause = { cycles = 2, range = 3,",
            "`pause`: invalid type: integer `3`",
        ),
        (
            "pause = { cycles = 2, rnage = [1, 4],",
            "did you mean `range`?",
        ),
    ] {
        let (at, message) = complaint(old, new);
        assert!(message.contains(expected), "{new}: {message}");
        assert!(message.contains("`pause`"), "{new}: {message}");
        assert_eq!(at, line, "{new}: {message}");
    }
    let (at, message) = complaint(
        "load = { cycles = 4, source",
        "load = { cycles = 4, range = [3, 5], source",
    );
    assert!(
        message.contains("found a range of a figure with the source `vendor`"),
        "{message}"
    );
    assert_eq!(at, line_of("load = { cycles = 4, source"));
    let (_, message) = complaint(
        "is = \"MESI\", source",
        "is = \"MESI\", range = [\"MESI\", \"MOESI\"], source",
    );
    assert!(
        message.contains("expected none for a figure without an order"),
        "{message}"
    );
}
