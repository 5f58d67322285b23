//! Faults that no model finds, each with the reason.

/// Mutants with the reason why no execution differs from the original's.
pub static EQUIVALENT: &[(&str, &str)] = &[
    (
        "GENERATION_CLAIM:relaxed",
        "what the claim reads was written by the parent, and a fork orders that before all of \
         the child; or it is the zero of a new object, and the thread that shares that has \
         ordered it",
    ),
    (
        "ARENA_MADE:relaxed",
        "a node is made of zeroes, in pages that are zero: a thread that looks through the \
         arena sees the same before and after",
    ),
    ("ARENA_NUMBER:relaxed", "as ARENA_MADE:relaxed"),
    (
        "INFLATED_LEAVE:release",
        "a thread that leaves touches the fat lock for the last time before its own release of \
         that lock or in atoms only, and the fat lock is never destroyed; a thread that finds the \
         object free acquires from all that left, because their exchanges are one release \
         sequence",
    ),
];

/// Faults that only models of the full tier find, or slow models. The simulated machine finds each
/// of them in every tier, except `hmcs.forget-the-away`.
pub static LATE: &[&str] = &[
    "RW_UNBIASED:relaxed",
    "futex-hmcs.lose-mark",
    "futex.gate-opens-silently",
    "hmcs.forget-the-away",
    "rw-phase.overtake",
];

/// Mutants with the evidence that would show them, which loom cannot produce.
pub static BEYOND: &[(&str, &str)] = &[
    (
        "RW_ANNOUNCED:relaxed",
        "loom's cheap fence acquires what the reader's first look at the word has read; the native one \
         does not",
    ),
    (
        "RWA_TAKEN:relaxed",
        "shows only if the owner of a slot is preempted between its second read and its release, and \
         the releasing thread before its barrier: more preemptions than the models have",
    ),
    (
        "ARENA_SEARCH:relaxed",
        "shows only if a new thread gets the number of one that has ended, between a search's \
         question and its exchange; the threads of a model all begin at its beginning",
    ),
    ("ARENA_SEARCHED:relaxed", "as ARENA_SEARCH:relaxed"),
    (
        "SWEPT_CLAIM:relaxed",
        "a context would have to write its node before another thread's last read of it, which \
         comes first in every execution of loom's: there no read sees a write of the future",
    ),
    ("SWEPT_RECYCLE:relaxed", "as SWEPT_CLAIM:relaxed"),
    (
        "HMCS_TP_CLAIM:relaxed",
        "orders the recycler's store to a node's link before its next user's, which loom does anyway; a \
         holder of a cohort's node sees the last one's by the grant of the cohort's queue",
    ),
    ("HMCS_TP_RECYCLE:relaxed", "as HMCS_TP_CLAIM:relaxed"),
    (
        "PLUS_BUY:relaxed",
        "shows only in a bus that a lock before has left otherwise than as new, where another thread \
         has put it: loom's threads see what an atom was made with",
    ),
    ("PLUS_FIND:relaxed", "as PLUS_BUY:relaxed"),
    (
        "FCP_ASK:relaxed",
        "a combiner reads nothing else that the thread wrote before, and writes the record's link after its \
         thread has: loom's writes to one atom stand in the order in which they are executed",
    ),
    ("FCP_ASKED:relaxed", "as FCP_ASK:relaxed"),
    (
        "FCP_PLACE:release",
        "shows only if a record that its owner left in a list is taken by another thread: the contexts of \
         a model live as long as its threads",
    ),
    (
        "fc-mcs-published.stay-out",
        "shows only if a combiner unlinks a record between two steps of its thread, which has waited \
         in the list before: more preemptions than the models have; the simulated machine notices it",
    ),
    (
        "near.forget-owed",
        "shows only when somebody is passed over, then the one before it served, then it passed \
         over again: more waiters than loom has threads; the simulated machine counts",
    ),
    (
        "futex.answer-forgets",
        "shows only if waiters sleep in the crowd, one of whom takes turns, the head gives turns up and an \
         arrival tries them again: more threads than loom has",
    ),
    (
        "claim.forget-wake",
        "the head naps, and finds a little later what it has been handed; the simulated machine \
         looks at the time",
    ),
    (
        "claim.forget-queue",
        "starves the queue, which no finite execution shows; the simulated machine counts how \
         many come first",
    ),
    (
        "inflated.believe-claims",
        "the child would find a thin lock held by a thread that was handed it and had not \
         noticed; a model cannot tell that from one that took the lock by itself just before \
         the fork, which is one exchange.  in_place.believe-claims, the same step where the \
         holder notes itself, is noticed",
    ),
    (
        "hmcs-t.keep-for-ever",
        "as clof.keep-for-ever; the simulated machine counts the hand-offs",
    ),
    (
        "hmcs-t-published.keep-for-ever",
        "as clof.keep-for-ever; the simulated machine counts the hand-offs",
    ),
    (
        "hmcs-t.take-another",
        "lengthens a releaser's way along the queue; the simulated machine counts the steps",
    ),
    (
        "hmcs-t.walk-again",
        "takes longer and does nothing else; the simulated machine counts the steps",
    ),
    (
        "aclof.keep-for-ever",
        "as clof.keep-for-ever; the simulated machine counts the hand-offs",
    ),
    (
        "aclof.stay-for-ever",
        "as clof.keep-for-ever; the simulated machine counts how often a wait is handed on",
    ),
    (
        "clof.keep-for-ever",
        "starves other cohorts, which no finite execution shows; the simulated machine counts \
         the hand-offs, and a Spin model lacks progress",
    ),
];
