//! The variants of the models of locks that are no compositions. Fairness of `glk` is checked for
//! finitely many mode changes that end at a fair lock. In `sanl`'s model a thread waits until its
//! section has run, on any thread.

use super::Property::{Ends, Lonely, Safety, Shared};
use super::{Property, STARVES, STUCK, Variant};

/// For threads that acquire forever.
const FAIR: &[Property] = &[Safety, Lonely, Shared];

/// For threads with a bounded number of acquisitions.
const FINITE: &[Property] = &[Safety, Ends];

const STARVES_ALL: &[(Property, &str)] = &[(Lonely, STARVES), (Shared, STARVES)];
const LOSES: &[(Property, &str)] = &[(Safety, STUCK)];
const LETS_TWO_IN: &[(Property, &str)] = &[(Safety, "inside==1")];
const RUNS_TWICE: &[(Property, &str)] = &[(Safety, "wants[me]")];
const FOLLOWS_NULL: &[(Property, &str)] = &[(Safety, "invalid array index")];

/// A thread hands over from an abandoned node.
const RELEASES_TWICE: &[(Property, &str)] = &[(Safety, "other!=254")];

/// The lock is not free after all threads have finished.
const NEVER_FREE: &[(Property, &str)] = &[(Safety, "finished<3")];

type Defines = &'static [&'static str];

const fn sound(
    model: &'static str,
    name: &'static str,
    defines: Defines,
    holds: &'static [Property],
) -> Variant {
    flawed(model, name, defines, holds, &[])
}

const fn flawed(
    model: &'static str,
    name: &'static str,
    defines: Defines,
    holds: &'static [Property],
    fails: &'static [(Property, &'static str)],
) -> Variant {
    Variant {
        model,
        name,
        defines,
        holds,
        fails,
    }
}

/// The variants of both tiers.
pub static QUICK: &[Variant] = &[
    sound("hmcs", "sound", &[], FAIR),
    sound("hmcs", "one_hand_off", &["HAND_OFFS=1"], FAIR),
    sound("hmcs", "finite", &["ROUNDS=2"], FINITE),
    flawed(
        "hmcs",
        "no_bound",
        &["NO_BOUND"],
        &[Safety, Shared],
        &[(Lonely, STARVES)],
    ),
    sound("hmcs", "no_bound_finite", &["NO_BOUND", "ROUNDS=2"], FINITE),
    flawed("hmcs", "all_above", &["ALL_ABOVE"], &[], LETS_TWO_IN),
    flawed(
        "hmcs",
        "low_first",
        &["LOW_FIRST"],
        &[],
        &[(Safety, "in_use[node]")],
    ),
    flawed(
        "hmcs",
        "forget_above",
        &["FORGET_ABOVE"],
        &[],
        &[(Safety, "in_use[node]")],
    ),
    flawed("hmcs", "no_reset", &["NO_RESET"], &[], LETS_TWO_IN),
    flawed("hmcs", "no_link", &["NO_LINK"], &[], FOLLOWS_NULL),
    sound("hmcs", "anywhere", &["ANYWHERE"], FAIR),
    sound("hmcs", "anywhere_finite", &["ANYWHERE", "ROUNDS=1"], FINITE),
    flawed(
        "hmcs",
        "anywhere_no_bound",
        &["ANYWHERE", "NO_BOUND"],
        &[Safety],
        &[(Lonely, STARVES)],
    ),
    flawed("hmcs", "from_leaf", &["ANYWHERE", "FROM_LEAF"], &[], LOSES),
    sound("hmcs_t", "sound", &[], FAIR),
    sound("hmcs_t", "flat", &["FLAT"], FAIR),
    sound(
        "hmcs_t",
        "flat_two_hurried",
        &["FLAT", "HURRIED2"],
        &[Safety, Lonely],
    ),
    sound("hmcs_t", "flat_finite", &["FLAT", "ROUNDS=2"], FINITE),
    sound("hmcs_t", "flat_own", &["FLAT", "OWN"], FAIR),
    sound("hmcs_t", "mine", &["MINE"], FAIR),
    sound("hmcs_t", "flat_mine", &["FLAT", "MINE", "OWN"], FAIR),
    sound(
        "hmcs_t",
        "flat_mine_finite",
        &["FLAT", "MINE", "OWN", "ROUNDS=2"],
        FINITE,
    ),
    flawed(
        "hmcs_t",
        "leave_place",
        &["FLAT", "MINE", "LEAVE_PLACE"],
        &[Safety],
        STARVES_ALL,
    ),
    flawed(
        "hmcs_t",
        "trust_all",
        &["FLAT", "MINE", "TRUST_ALL"],
        &[Safety],
        STARVES_ALL,
    ),
    sound(
        "hmcs_t",
        "flat_own_finite",
        &["FLAT", "OWN", "ROUNDS=2"],
        FINITE,
    ),
    flawed(
        "hmcs_t",
        "keep_link",
        &["FLAT", "OWN", "KEEP_LINK"],
        &[],
        LOSES,
    ),
    flawed(
        "hmcs_t",
        "unlink_late",
        &["FLAT", "OWN", "UNLINK_LATE"],
        &[],
        LOSES,
    ),
    flawed(
        "hmcs_t",
        "keep_marked",
        &["FLAT", "OWN", "KEEP_MARKED"],
        &[],
        LOSES,
    ),
    flawed(
        "hmcs_t",
        "no_bound",
        &["NO_BOUND"],
        &[Safety, Shared],
        &[(Lonely, STARVES)],
    ),
    flawed("hmcs_t", "keep_first", &["KEEP_FIRST"], &[], RELEASES_TWICE),
    flawed(
        "hmcs_t",
        "ignore_mark",
        &["IGNORE_MARK"],
        &[Safety],
        STARVES_ALL,
    ),
    flawed(
        "hmcs_t",
        "overwrite_grant",
        &["OVERWRITE_GRANT"],
        &[Safety],
        STARVES_ALL,
    ),
    flawed("hmcs_t", "forget_node", &["FORGET_NODE"], &[], LETS_TWO_IN),
    flawed(
        "hmcs_t",
        "forget_below",
        &["FORGET_BELOW"],
        &[Safety, Lonely],
        &[(Shared, STARVES)],
    ),
    flawed("hmcs_t", "low_first", &["LOW_FIRST"], &[], RELEASES_TWICE),
    sound("aclof", "sound", &[], &[Safety, Lonely]),
    sound("aclof", "one_hand_off", &["HAND_OFFS=1"], &[Safety, Lonely]),
    sound("aclof", "finite", &["ROUNDS=2"], FINITE),
    flawed(
        "aclof",
        "stay_for_ever",
        &["STAY_FOR_EVER"],
        &[Safety],
        &[(Lonely, STARVES)],
    ),
    flawed(
        "aclof",
        "leave_wait",
        &["LEAVE_WAIT"],
        &[Safety],
        &[(Lonely, STARVES)],
    ),
    sound("cna", "sound", &[], FAIR),
    sound("cna", "one_hand_off", &["HAND_OFFS=1"], FAIR),
    sound("cna", "finite", &["ROUNDS=2"], FINITE),
    sound("cna", "two_and_two", &["TWO_AND_TWO", "HAND_OFFS=3"], FAIR),
    flawed(
        "cna",
        "no_bound",
        &["NO_BOUND"],
        &[Safety, Shared],
        &[(Lonely, STARVES)],
    ),
    sound("cna", "no_bound_finite", &["NO_BOUND", "ROUNDS=2"], FINITE),
    flawed(
        "cna",
        "never_back",
        &["NEVER_BACK"],
        &[Safety, Shared],
        &[(Lonely, STARVES)],
    ),
    sound(
        "cna",
        "never_back_finite",
        &["NEVER_BACK", "ROUNDS=2"],
        FINITE,
    ),
    flawed("cna", "forget_aside", &["FORGET_ASIDE"], &[], LOSES),
    flawed(
        "cna",
        "leave_aside",
        &["LEAVE_ASIDE", "ROUNDS=2"],
        &[],
        LOSES,
    ),
    flawed("cna", "old_end", &["OLD_END", "ROUNDS=2"], &[], LOSES),
    flawed(
        "cna",
        "lose_aside",
        &["LOSE_ASIDE", "TWO_AND_TWO", "HAND_OFFS=3", "ROUNDS=2"],
        &[],
        LOSES,
    ),
    sound("shfl", "sound", &[], FAIR),
    sound("shfl", "finite", &["ROUNDS=2"], FINITE),
    sound("shfl", "four", &["THREADS=4"], &[Safety, Lonely]),
    flawed(
        "shfl",
        "no_bound",
        &["THREADS=4", "NO_BOUND"],
        &[Safety, Shared],
        &[(Lonely, STARVES)],
    ),
    flawed("shfl", "barge", &["BARGE"], &[Safety], STARVES_ALL),
    sound("shfl", "barge_finite", &["BARGE", "ROUNDS=2"], FINITE),
    flawed(
        "shfl",
        "leave_first",
        &["LEAVE_FIRST"],
        &[Safety],
        STARVES_ALL,
    ),
    sound(
        "shfl",
        "leave_first_finite",
        &["LEAVE_FIRST", "ROUNDS=2"],
        FINITE,
    ),
    flawed("shfl", "last_too", &["LAST_TOO", "ROUNDS=2"], &[], LOSES),
    flawed(
        "shfl",
        "forget_gap",
        &["THREADS=4", "FORGET_GAP"],
        &[],
        LOSES,
    ),
    flawed("shfl", "cut", &["THREADS=4", "CUT"], &[], LOSES),
    flawed("shfl", "no_link", &["NO_LINK"], &[], FOLLOWS_NULL),
    // Not fair by design.
    flawed("hbo", "sound", &[], &[Safety], STARVES_ALL),
    sound("hbo", "finite", &["ROUNDS=2"], FINITE),
    flawed("hbo", "two_steps", &["TWO_STEPS"], &[], LETS_TWO_IN),
    flawed(
        "hbo",
        "far_waits",
        &["FAR_WAITS", "ROUNDS=2"],
        &[Safety],
        &[(Ends, STARVES)],
    ),
    sound("fc_mcs", "sound", &[], FAIR),
    sound("fc_mcs", "finite", &["ROUNDS=2"], FINITE),
    flawed("fc_mcs", "endless", &["ENDLESS"], &[Safety], STARVES_ALL),
    sound("fc_mcs", "endless_finite", &["ENDLESS", "ROUNDS=2"], FINITE),
    flawed(
        "fc_mcs",
        "followers",
        &["FOLLOWERS", "ROUNDS=2"],
        &[],
        LOSES,
    ),
    flawed("fc_mcs", "no_turn", &["NO_TURN", "ROUNDS=2"], &[], LOSES),
    flawed(
        "fc_mcs",
        "two_steps",
        &["TWO_STEPS", "ROUNDS=2"],
        &[],
        LOSES,
    ),
    flawed("fc_mcs", "no_link", &["NO_LINK"], &[], LOSES),
    flawed("fc_mcs", "hurry", &["HURRY"], &[], FOLLOWS_NULL),
    flawed(
        "fc_mcs",
        "retry",
        &["RETRY"],
        &[Safety, Lonely],
        &[(Shared, STARVES)],
    ),
    sound("fc_mcs", "retry_finite", &["RETRY", "ROUNDS=2"], FINITE),
    sound("hclh", "sound", &[], FAIR),
    sound("hclh", "finite", &["ROUNDS=1"], FINITE),
    flawed("hclh", "endless", &["ENDLESS"], &[Safety], STARVES_ALL),
    sound("hclh", "endless_finite", &["ENDLESS", "ROUNDS=1"], FINITE),
    flawed("hclh", "followers", &["FOLLOWERS", "ROUNDS=2"], &[], LOSES),
    flawed(
        "hclh",
        "stay_behind",
        &["STAY_BEHIND"],
        &[],
        &[(Safety, "followed[other]")],
    ),
    flawed("hclh", "two_steps", &["TWO_STEPS", "ROUNDS=2"], &[], LOSES),
    flawed("hclh", "no_end", &["NO_END", "ROUNDS=2"], &[], NEVER_FREE),
    flawed("hclh", "keep_both", &["KEEP_BOTH"], &[], LOSES),
    flawed("hclh", "no_renew", &["NO_RENEW"], &[], LETS_TWO_IN),
    sound("glk", "sound", &[], FAIR),
    sound("glk", "finite", &["ROUNDS=2"], FINITE),
    flawed("glk", "endless", &["ENDLESS"], &[Safety], STARVES_ALL),
    sound("glk", "endless_finite", &["ENDLESS", "ROUNDS=1"], FINITE),
    // The mutex is not fair by design.
    flawed("glk", "mutex", &["MUTEX"], &[Safety], STARVES_ALL),
    sound("glk", "mutex_finite", &["MUTEX", "ROUNDS=1"], FINITE),
    flawed("glk", "stay", &["STAY"], &[Safety], STARVES_ALL),
    flawed("glk", "stay_finite", &["STAY", "ROUNDS=2"], &[], NEVER_FREE),
    flawed("glk", "believe_mode", &["BELIEVE_MODE"], &[], LETS_TWO_IN),
    flawed("glk", "come_back", &["COME_BACK"], &[], LETS_TWO_IN),
    sound("sanl", "sound", &[], FAIR),
    sound("sanl", "finite", &["ROUNDS=1"], FINITE),
    // After one hand-over the lock goes to another node, and returns through its queue.
    flawed(
        "sanl",
        "one_hand_over",
        &["MOST=1"],
        &[Safety, Lonely],
        &[(Shared, STARVES)],
    ),
    flawed("sanl", "no_bound", &["NO_BOUND"], &[Safety], STARVES_ALL),
    sound("sanl", "no_bound_finite", &["NO_BOUND", "ROUNDS=1"], FINITE),
    flawed("sanl", "try_alone", &["TRY_ALONE"], &[Safety], STARVES_ALL),
    flawed("sanl", "keep_gate", &["KEEP_GATE"], &[Safety], STARVES_ALL),
    flawed("sanl", "hand_to_queued", &["HAND_TO_QUEUED"], &[], LOSES),
    flawed("sanl", "post_again", &["POST_AGAIN"], &[], RUNS_TWICE),
    flawed(
        "sanl",
        "upgrade_served",
        &["UPGRADE_SERVED"],
        &[],
        RUNS_TWICE,
    ),
];

/// The variants of the full tier only.
pub static DEEP: &[Variant] = &[
    sound("hmcs_t", "one_hand_off", &["HAND_OFFS=1"], FAIR),
    sound("hmcs_t", "two_hurried", &["HURRIED2"], &[Safety, Lonely]),
    sound("hmcs_t", "finite", &["ROUNDS=2"], FINITE),
    sound("hmcs_t", "own", &["OWN"], FAIR),
    sound(
        "hmcs_t",
        "mine_two_hurried",
        &["HURRIED2", "MINE"],
        &[Safety, Lonely],
    ),
    sound("hmcs", "deep", &["DEEP"], FAIR),
    sound("hmcs", "deep_finite", &["DEEP", "ROUNDS=1"], FINITE),
    flawed(
        "hmcs",
        "deep_no_bound",
        &["DEEP", "NO_BOUND"],
        &[],
        &[(Lonely, STARVES)],
    ),
    sound("hmcs", "anywhere_twice", &["ANYWHERE", "ROUNDS=2"], FINITE),
    sound(
        "cna",
        "two_and_two_finite",
        &["TWO_AND_TWO", "HAND_OFFS=3", "ROUNDS=2"],
        FINITE,
    ),
    sound("shfl", "four_shared", &["THREADS=4"], &[Shared]),
    sound("shfl", "four_finite", &["THREADS=4", "ROUNDS=2"], FINITE),
    sound("fc_mcs", "four", &["THREADS=4"], FAIR),
    sound("hclh", "finite_twice", &["ROUNDS=2"], FINITE),
    sound(
        "glk",
        "endless_finite_twice",
        &["ENDLESS", "ROUNDS=2"],
        FINITE,
    ),
    sound("glk", "mutex_finite_twice", &["MUTEX", "ROUNDS=2"], FINITE),
    sound("sanl", "finite_twice", &["ROUNDS=2"], FINITE),
];
