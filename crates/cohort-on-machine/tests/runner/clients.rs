//! Features beside plain locking: deadlines, readers and writers, condition variables, the arena,
//! hosted locks.

use super::trial::{EPYC, KUNPENG, by_chance, by_time, passes};
use super::world::Client;
use crate::checks::{Endable, FromLeaf, Naive, OnePeer, Pessimistic, WithNodes};
use crate::clients::condvar::{Looking, Queued};
use crate::clients::glk::{self, Backwards, Forwards, InAndOut, InMutex, ToAndFro};
use crate::clients::near_wrap::NearWrap;
use crate::clients::object::{Beginning, CROWDED, NAMED, NAMELESS};
use crate::clients::recipes::{ClhHemlock, HemlockTicket, McsClh, McsTicketClh, TicketMcs};
use crate::clients::rwlock::Hold;
use crate::clients::service::Noted;
use crate::clients::{
    arena, barrier, condvar, destroy, host, mutex, near, object, once, p_sim, rwlock, semaphore,
    service, waking, waking_shared,
};
use crate::delegate_clients::{
    self as delegate, Apart, Bringing, Chained, Combining, Growing, Hastily, Passing, Patiently,
    Places, Polling, Queueing, Scarce, Settling, Staying, Voting, Waiting,
};
use crate::locks::abortable::{ABo, AClh, AMcs, ClhNb, ClhTry, McsNb, McsTry};
use crate::locks::baseline::{Posix, PosixRwLock};
use crate::locks::basic::{Anderson, Bo, Clh, Futex, Mcs, Ptl, Tas, Ticket, Ttas};
use crate::locks::compose::{
    AClof, Adaptive, Bypass, CacheGroup, Clof, Fast, Gated, Numa, OnPages, Package, Stacked,
};
use crate::locks::delegation::sanl_plus::{QUEUE, RIDES, Usual};
use crate::locks::delegation::{CcSynch, Fc, HSynch, Oyama, Qd, Rcl, Sanl, SanlPlus};
use crate::locks::door::nap;
use crate::locks::numa::{
    Cna, FcMcs, FutexHmcs, Hbo, Hclh, Hmcs, HmcsT, HmcsT1, HmcsTPublished, Near, Shfl, WhereMet,
};
use crate::locks::rwlock::{Abandoning, CohortRw, RawRwLock};
use crate::locks::wait::{MayPark, WaitCell};
use libtest_mimic::Trial;

/// The last value of a wait cell before it wraps around.
const CELL: u32 = WaitCell::<MayPark>::MAX;

/// Patience of some claiming threads, short enough that many time out.
const CLAIM: u64 = 20_000;

/// A rwlock that prefers neither readers nor writers.
type Neutral = CohortRw<Mcs, true, Numa, 0, 4>;

/// A rwlock that prefers writers.
type WritersFirst = CohortRw<Ticket, false, Numa, 2, 4>;

/// A rwlock with timed writers.
type Abandoned = CohortRw<Abandoning<HmcsT1>, true, Numa, 2, 4>;

/// Changes of a rwlock's hold by threads.
fn holds(threads: usize) -> &'static [Hold] {
    use Hold::{
        Reads, ReadsOn, ReadsThenMayWrite, ReadsThenWrites, Writes, WritesForAWhile,
        WritesThenReads,
    };
    let many = &[
        ReadsThenWrites,
        Reads,
        WritesThenReads,
        Reads,
        ReadsThenMayWrite,
        Writes,
        ReadsOn,
        ReadsThenWrites,
        WritesForAWhile,
        WritesThenReads,
        ReadsThenWrites,
        Reads,
    ];
    &many[..threads]
}

/// Like [`holds`], with writers that become upgradable readers.
fn written_twice(threads: usize) -> &'static [Hold] {
    use Hold::{Reads, ReadsThenMayWrite, ReadsThenWrites, Writes, WritesAndReadsOn, WritesTwice};
    let many = &[
        WritesTwice,
        Writes,
        ReadsThenWrites,
        WritesAndReadsOn,
        Reads,
        WritesTwice,
        ReadsThenMayWrite,
        Writes,
        WritesAndReadsOn,
        Reads,
        ReadsThenWrites,
        WritesTwice,
    ];
    &many[..threads]
}

/// A client in two sizes: many threads in virtual time, few under random schedules.
type Sizes = (&'static str, Client, Client);

macro_rules! clients {
    ($($name:ident: |$threads:ident, $rounds:ident| $client:expr;)+) => {
        &[$((
            stringify!($name),
            || { let ($threads, $rounds) = (12, 30); $client },
            || { let ($threads, $rounds) = (4, 3); $client },
        )),+]
    };
}

static CLIENTS: &[Sizes] = clients! {
    futex_lets_go: |threads, rounds| mutex::lets_go::<Futex>(threads, rounds, threads / 2);
    futex_hmcs_lets_go: |threads, rounds| mutex::lets_go::<FutexHmcs>(threads, rounds, threads / 2);
    futex_hmcs_keeps_apart: |_threads, _rounds| mutex::keeps_apart::<FutexHmcs>();
    futex_hmcs_is_destroyed: |threads, _rounds| destroy::is_destroyed::<FutexHmcs>(threads);
    tas_lets_go: |threads, rounds| mutex::lets_go::<Tas>(threads, rounds, threads / 2);
    ttas_lets_go: |threads, rounds| mutex::lets_go::<Ttas>(threads, rounds, threads / 2);
    bo_lets_go: |threads, rounds| mutex::lets_go::<Bo>(threads, rounds, threads / 2);
    hbo_lets_go: |threads, rounds| mutex::lets_go::<Hbo>(threads, rounds, threads / 2);
    posix_lets_go: |threads, rounds| mutex::lets_go::<Posix>(threads, rounds, threads / 2);
    posix_readers_share: |threads, rounds| rwlock::shares::<PosixRwLock>(threads, 2, rounds, 1);
    posix_writers_come_first: |threads, rounds| rwlock::shares::<PosixRwLock<true>>(threads, 2, rounds, 0);
    ticket_numbers_wrap: |threads, rounds| {
        mutex::excludes::<NearWrap<Ticket, { u32::MAX - 5 }>>(threads, rounds, 1);
    };
    ticket_cells_wrap: |threads, rounds| {
        mutex::excludes::<NearWrap<Ticket, { CELL - 5 }>>(threads, rounds, 1);
    };
    ptl_cells_wrap: |threads, rounds| {
        mutex::excludes::<NearWrap<Ptl<2>, { CELL - 5 }>>(threads, rounds, 1);
    };
    anderson_positions_wrap: |threads, rounds| {
        mutex::excludes::<NearWrap<Anderson<2>, { u32::MAX - 5 }>>(threads, rounds, 1);
    };
    futex_is_destroyed: |threads, _rounds| destroy::is_destroyed::<Futex>(threads);
    mcs_is_destroyed: |threads, _rounds| destroy::is_destroyed::<Mcs>(threads);
    clof_of_two_locks: |_threads, rounds| {
        mutex::takes_turns::<Clof<Ticket, Mcs>, _>([2 * rounds, rounds, rounds]);
    };
    stacked_excludes: |threads, rounds| {
        mutex::excludes::<Stacked<McsTicketClh>>(threads, rounds, 1);
    };
    stacked_takes_turns: |_threads, rounds| {
        mutex::takes_turns::<Stacked<TicketMcs>, _>([2 * rounds, rounds, rounds]);
        mutex::takes_turns::<Stacked<McsClh>, _>([2 * rounds, rounds, rounds]);
        mutex::takes_turns::<Stacked<ClhHemlock>, _>([2 * rounds, rounds, rounds]);
        mutex::takes_turns::<Stacked<HemlockTicket>, _>([2 * rounds, rounds, rounds]);
    };
    glk_changes: |threads, rounds| mutex::excludes::<Forwards>(threads, rounds, 1);
    glk_changes_back: |threads, rounds| mutex::excludes::<Backwards>(threads, rounds, 1);
    glk_to_and_fro: |threads, rounds| mutex::excludes::<ToAndFro>(threads, rounds, 1);
    glk_in_and_out: |threads, rounds| mutex::excludes::<InAndOut>(threads, rounds, 1);
    glk_inflated: |threads, rounds| {
        host::excludes(host::inflated_adapting::<Forwards>(), threads, rounds, 1);
    };
    glk_passes: |threads, rounds| {
        host::excludes(host::inflated_adapting::<InMutex>(), threads, rounds, 1);
    };
    glk_comes_round: |threads, _rounds| glk::comes_round(threads);
    glk_tries: |_threads, _rounds| glk::is_free_for_a_try::<Forwards>();
    assigned: |threads, rounds| host::is_assigned::<Tas, Mcs>(threads, rounds);
    gls_excludes: |_threads, _rounds| {
        service::excludes::<Tas, _>([&[1, 2, 3, 4][..], &[4, 3, 2, 1], &[2, 4, 1, 3], &[3, 1]]);
    };
    gls_frees: |_threads, _rounds| service::frees::<Tas>(4);
    gls_frees_adapting: |_threads, _rounds| service::frees::<Noted<Forwards>>(4);
    gls_keeps_order: |_threads, _rounds| service::keeps_order();
    gls_is_unlocked_elsewhere: |_threads, _rounds| service::is_unlocked_elsewhere();
    gls_is_found: |_threads, _rounds| service::is_found([2, 3, 4]);
    gls_clears: |_threads, _rounds| service::clears(4);
    gls_reserves: |_threads, _rounds| service::reserves(16);
    gls_is_of_one_kind: |_threads, _rounds| service::is_of_one_kind();
    hmcs_of_three_levels: |threads, rounds| {
        mutex::excludes::<Hmcs<(CacheGroup, Numa), 4, 2, MayPark, 2>>(threads, rounds, 1);
    };
    hmcs_lets_others_in: |_threads, rounds| {
        mutex::lets_others_in::<Hmcs<(Numa,), 4, 0, MayPark, 2>>(1, 3 * rounds);
    };
    hmcs_t_lets_go: |threads, rounds| {
        mutex::lets_go::<HmcsT<(Numa,), 4, 0, MayPark, 2>>(threads, rounds, threads / 2);
    };
    hmcs_t_comes_back: |threads, _rounds| {
        mutex::comes_back::<HmcsT1>(threads, threads - 1, false);
        mutex::comes_back::<HmcsT<(Numa,), 4, 0, MayPark, 2>>(threads, threads / 2, true);
    };
    hmcs_t_all_let_go: |threads, _rounds| {
        mutex::all_let_go::<HmcsT1>(threads);
    };
    hmcs_t_comes_past: |threads, _rounds| {
        type Lock = HmcsT<(CacheGroup, Numa), 4, 2, MayPark, 2>;
        // SAFETY: it is an acquisition.
        unsafe { mutex::comes_by::<Lock>(threads, Lock::acquire_among_others) };
    };
    hmcs_t_of_three_levels: |threads, rounds| {
        type Lock = HmcsT<(CacheGroup, Numa), 4, 2, MayPark, 2>;
        mutex::excludes::<Lock>(threads, rounds, 1);
        mutex::lets_go::<Lock>(threads, rounds, threads / 2);
        mutex::comes_back::<Lock>(threads, threads - 1, false);
    };
    hmcs_t_lets_others_in: |_threads, rounds| {
        type Lock = HmcsT<(Numa,), 4, 0, MayPark, 2>;
        // SAFETY: called by the holder.
        let is_followed = |lock: &Lock, cx: &_| unsafe { lock.is_followed(cx) };
        let acquire = Lock::acquire_among_others;
        // SAFETY: it is an acquisition.
        unsafe { mutex::lets_others_in_by::<Lock>(1, 3 * rounds, acquire, is_followed) };
    };
    hmcs_t_of_one_peer: |threads, rounds| {
        mutex::passes_over::<OnePeer<MayPark>>();
        mutex::lets_go::<OnePeer<MayPark>>(threads, rounds, threads / 2);
        mutex::comes_back::<OnePeer<MayPark>>(threads, threads / 2, false);
    };
    hmcs_t_pessimistic: |threads, rounds| {
        mutex::persists::<Pessimistic<MayPark>>(rounds);
        mutex::comes_back_hurried::<Pessimistic<MayPark>>();
        mutex::lets_go::<Pessimistic<MayPark>>(threads, rounds, threads / 2);
        mutex::comes_back::<Pessimistic<MayPark>>(threads, threads / 2, false);
    };
    hmcs_t_naive: |threads, rounds| {
        mutex::lets_go::<Naive<MayPark>>(threads, rounds, threads / 2);
        mutex::comes_back::<Naive<MayPark>>(threads, threads - 1, false);
    };
    hmcs_t_with_nodes: |threads, rounds| {
        type Lock = Endable<HmcsT<(Numa,), 4, 0, MayPark, 2, FromLeaf>>;
        mutex::excludes::<WithNodes<MayPark>>(threads, rounds, 0);
        mutex::lets_go::<WithNodes<MayPark>>(threads, rounds, threads / 2);
        mutex::lets_go::<Lock>(threads, rounds, threads / 2);
        mutex::comes_back::<Lock>(threads, threads / 2, true);
    };
    hmcs_t_published_excludes: |threads, rounds| {
        type Lock = HmcsTPublished<(CacheGroup, Numa), 4, 2, MayPark, 2>;
        mutex::excludes::<HmcsTPublished<(), 0, 0, MayPark>>(threads, rounds, 1);
        mutex::excludes::<Lock>(threads, rounds, 1);
    };
    hmcs_t_published_lets_others_in: |_threads, rounds| {
        type Lock = HmcsTPublished<(Numa,), 4, 0, MayPark, 2>;
        // SAFETY: called by the holder.
        let is_followed = |lock: &Lock, cx: &_| unsafe { lock.is_followed(cx) };
        let acquire = Lock::acquire_among_others;
        // SAFETY: it is an acquisition.
        unsafe { mutex::lets_others_in_by::<Lock>(1, 3 * rounds, acquire, is_followed) };
    };
    hmcs_t_published_lets_go: |threads, rounds| {
        type Lock = HmcsTPublished<(CacheGroup, Numa), 4, 2, MayPark, 2>;
        mutex::lets_go::<HmcsTPublished<(), 0, 0, MayPark>>(threads, rounds, threads / 2);
        mutex::lets_go::<Lock>(threads, rounds, threads / 2);
        mutex::all_let_go::<Lock>(threads);
    };
    hmcs_t_published_comes_back: |threads, _rounds| {
        type Lock = HmcsTPublished<(CacheGroup, Numa), 4, 2, MayPark, 2>;
        mutex::comes_back::<HmcsTPublished<(), 0, 0, MayPark>>(threads, threads - 1, false);
        mutex::comes_back::<Lock>(threads, threads - 1, false);
        mutex::comes_back::<Lock>(threads, threads / 2, true);
    };
    ahmcs_t_lets_go: |threads, rounds| {
        type Lock = HmcsT<(CacheGroup, Numa), 4, 2, MayPark, 2, WhereMet>;
        mutex::excludes::<Lock>(threads, rounds, 1);
        mutex::lets_go::<Lock>(threads, rounds, threads / 2);
        mutex::comes_back::<Lock>(threads, threads - 1, false);
    };
    a_c_bo_bo_lets_go: |threads, rounds| {
        mutex::lets_go::<AClof<ABo, Bo, Numa, 2, 4>>(threads, rounds, threads / 2);
    };
    a_c_bo_clh_lets_go: |threads, rounds| {
        mutex::lets_go::<AClof<AClh, Bo, Numa, 2, 4>>(threads, rounds, threads / 2);
    };
    a_mcs_lets_go: |threads, rounds| {
        mutex::lets_go::<AClof<AMcs, Bo, Numa, 2, 4>>(threads, rounds, threads / 2);
        mutex::comes_back::<AClof<AMcs, Bo, Numa, 2, 4>>(threads, threads / 2, false);
        mutex::comes_back_late::<AClof<AMcs, Bo, Numa, 2, 1>>();
        mutex::begins_anew_after_a_fork::<AMcs>();
    };
    token_cancels: |threads, _rounds| {
        mutex::is_cancelled_or_late::<Ttas>();
        mutex::is_cancelled_or_late::<HmcsT1>();
        mutex::is_cancelled::<Ttas>(threads);
        mutex::is_cancelled_by_either::<Ttas>(0);
        mutex::is_cancelled_by_either::<HmcsT1>(1);
        mutex::is_cancelled::<HmcsT1>(threads);
        mutex::is_cancelled_or_granted::<HmcsT1>(threads, true);
    };
    clh_nb_lets_go: |threads, rounds| mutex::lets_go::<ClhNb>(threads, rounds, threads / 2);
    clh_nb_comes_back: |threads, _rounds| {
        mutex::comes_back::<ClhNb>(threads, threads - 1, threads % 2 == 0);
    };
    mcs_nb_lets_go: |threads, rounds| mutex::lets_go::<McsNb>(threads, rounds, threads / 2);
    mcs_nb_comes_back: |threads, _rounds| {
        mutex::comes_back::<McsNb>(threads, threads - 1, threads % 2 == 0);
    };
    clh_try_lets_go: |threads, rounds| mutex::lets_go::<ClhTry>(threads, rounds, threads / 2);
    clh_try_comes_back: |threads, _rounds| {
        mutex::comes_back::<ClhTry>(threads, threads - 1, threads % 2 == 0);
    };
    clh_try_leaves_twice: |_threads, _rounds| mutex::leaves_twice::<ClhTry>();
    mcs_try_lets_go: |threads, rounds| mutex::lets_go::<McsTry>(threads, rounds, threads / 2);
    mcs_try_comes_back: |threads, _rounds| {
        mutex::comes_back::<McsTry>(threads, threads - 1, threads % 2 == 0);
    };
    mcs_try_leaves_twice: |_threads, _rounds| mutex::leaves_twice::<McsTry>();
    mcs_try_comes_back_meanwhile: |_threads, _rounds| mutex::comes_back_meanwhile::<McsTry>();
    aclof_of_three_levels: |threads, rounds| {
        type Lock = AClof<AClh, AClof<ABo, AClh, Numa, 2, 4>, CacheGroup, 2, 64>;
        mutex::excludes::<Lock>(threads, rounds, 1);
        mutex::lets_go::<Lock>(threads, rounds, threads / 2);
        mutex::comes_back::<Lock>(threads, threads - 1, false);
        mutex::lets_go_beside_a_try::<Lock>(threads, rounds, threads / 2);
        mutex::outlasts_a_neighbour::<Lock>();
    };
    ahmcs_of_three_levels: |threads, rounds| {
        mutex::excludes::<Hmcs<(CacheGroup, Numa), 4, 2, MayPark, 2, WhereMet>>(threads, rounds, 1);
    };
    ahmcs_lets_others_in: |_threads, rounds| {
        mutex::lets_others_in::<Hmcs<(Numa,), 4, 0, MayPark, 2, WhereMet>>(1, 3 * rounds);
    };
    cna_queues: |_threads, rounds| mutex::queues::<Cna, _>([rounds; 8]);
    near_queues: |_threads, rounds| mutex::queues::<Near, _>([rounds; 8]);
    near_is_destroyed: |threads, _rounds| destroy::is_destroyed::<Near>(threads);
    near_above_cohorts: |threads, rounds| {
        mutex::excludes::<Clof<Ticket, Near<MayPark, 2>, CacheGroup>>(threads, rounds, 1);
        mutex::takes_turns::<Clof<Mcs, Near<MayPark, 2>>, _>([2 * rounds, rounds, rounds]);
    };
    near_prefers: |_threads, rounds| {
        near::prefers_the_nearest::<MayPark, 2, 8>([rounds; 8], 7, true);
    };
    shfl_queues: |_threads, rounds| mutex::queues::<Shfl, _>([rounds; 8]);
    fc_mcs_queues: |_threads, rounds| mutex::queues::<FcMcs, _>([rounds; 8]);
    hclh_queues: |_threads, rounds| mutex::queues::<Hclh, _>([rounds; 8]);
    hclh_is_destroyed: |threads, _rounds| destroy::is_destroyed::<Hclh>(threads);
    cna_lets_others_in: |_threads, rounds| {
        mutex::lets_others_in::<Cna<MayPark, 2>>(1, 3 * rounds);
    };
    clof_on_pages: |threads, rounds| {
        mutex::excludes::<Clof<OnPages<Ticket>, Mcs, Numa, 128, 2>>(threads, rounds, 1);
    };
    adaptive_bypass: |threads, rounds| mutex::excludes::<Adaptive<Clof<Ticket, Mcs>>>(threads, rounds, 1);
    gated: |threads, rounds| mutex::excludes::<Gated<Clof<Ticket, Mcs>>>(threads, rounds, 1);
    bypass_of_two_locks: |threads, rounds| mutex::excludes::<Bypass<Clof<Ticket, Mcs>>>(threads, rounds, 1);
    fast_path_of_three: |threads, rounds| {
        mutex::excludes::<Fast<Clof<Mcs, Clof<Ticket, Mcs, Package>, CacheGroup>>>(threads, rounds, 1);
    };
    readers_share: |threads, rounds| rwlock::shares::<RawRwLock>(threads, 2, rounds, 0);
    readers_and_writers_let_go: |threads, rounds| rwlock::lets_go::<RawRwLock>(threads, 3, rounds, 2);
    rwlock_is_tried: |threads, rounds| rwlock::is_tried::<RawRwLock>(threads, rounds);
    rwlock_changes_its_hold: |threads, _rounds| rwlock::changes_its_hold(holds(threads));
    rwlock_is_written_twice: |threads, _rounds| rwlock::changes_its_hold(written_twice(threads));
    rwlock_is_fair: |threads, rounds| rwlock::lets_go::<rwlock::Fairly>(threads, 3, rounds, 2);
    futex_is_fair: |threads, rounds| mutex::lets_go::<mutex::Fairly<Futex>>(threads, rounds, 2);
    futex_hmcs_is_fair: |threads, rounds| {
        mutex::lets_go::<mutex::Fairly<FutexHmcs>>(threads, rounds, 2);
    };
    futex_hmcs_begins_again: |_threads, _rounds| mutex::begins_where_another_was_held();
    gated_lets_go: |threads, rounds| mutex::lets_go::<Gated<Ticket>>(threads, rounds, threads / 2);
    rwlock_is_read_past_writers: |_threads, rounds| rwlock::is_read_past_writers(rounds);
    rwlock_is_read_again_at_last: |_threads, rounds| {
        rwlock::is_read_again_at_last::<RawRwLock>(rounds % 2 == 0, || nap(6_000_000));
    };
    rwlock_is_read_for_another: |_threads, rounds| {
        rwlock::is_read_for_another::<RawRwLock>(rounds % 2 == 0);
    };
    rwlock_comes_to_rest: |_threads, _rounds| rwlock::comes_to_rest();
    rwlock_is_released_by_another: |_threads, rounds| {
        rwlock::is_released_by_another(rounds as u32, false);
        rwlock::is_released_by_another(rounds as u32, true);
    };
    rwlock_is_left_unbiased: |_threads, _rounds| rwlock::is_left_unbiased();
    cohorts_are_read_for_another: |_threads, rounds| {
        rwlock::is_read_for_another::<Neutral>(rounds % 2 == 0);
    };
    cohorts_are_read_again_at_last: |_threads, rounds| {
        rwlock::is_read_again_at_last::<Neutral>(rounds % 2 == 0, || nap(6_000_000));
    };
    rwlock_is_read_again: |_threads, rounds| rwlock::is_read_again::<RawRwLock>(rounds);
    cohorts_readers_share: |threads, rounds| rwlock::shares::<Neutral>(threads, 2, rounds, 1);
    cohorts_readers_give_way: |threads, rounds| {
        rwlock::shares_without_recursion::<WritersFirst>(threads, 2, rounds);
    };
    cohorts_let_go: |threads, rounds| rwlock::lets_go::<Neutral>(threads, 3, rounds, 2);
    cohorts_let_go_of_writers: |threads, rounds| {
        rwlock::lets_go::<WritersFirst>(threads, threads / 2, rounds, threads);
    };
    cohorts_let_writers_go: |threads, rounds| rwlock::lets_writers_go::<Neutral>(threads, rounds);
    cohorts_abandon: |threads, rounds| {
        rwlock::lets_go::<Abandoned>(threads, threads - 1, rounds, threads / 2);
    };
    cohorts_are_tried: |threads, rounds| rwlock::is_tried::<Neutral>(threads, rounds);
    cohorts_are_read_again: |_threads, rounds| rwlock::is_read_again::<Neutral>(rounds);
    cohorts_are_read_beside: |threads, rounds| {
        rwlock::is_read_beside_another::<WritersFirst>(threads, rounds);
    };
    cohorts_let_readers_in: |_threads, rounds| rwlock::lets_readers_in::<Mcs, true, 0, 4>(rounds);
    cohorts_let_readers_in_late: |_threads, rounds| rwlock::lets_readers_in::<Mcs, false, 2, 4>(2 * rounds);
    cohorts_of_a_composition: |threads, rounds| {
        rwlock::shares::<CohortRw<Clof<Ticket, Mcs>>>(threads, threads / 2, rounds, 0);
    };
    object_readers_share: |threads, rounds| {
        rwlock::shares::<Beginning<Mcs, true, NAMELESS>>(threads, 2, rounds, 1);
    };
    object_readers_meet: |threads, rounds| {
        rwlock::shares_without_recursion::<Beginning<Ticket, true, NAMELESS>>(threads, 2, rounds);
    };
    object_readers_give_way: |threads, rounds| {
        rwlock::shares_without_recursion::<Beginning<Ticket, false, NAMED>>(threads, 2, rounds);
    };
    object_of_a_composition: |threads, rounds| {
        rwlock::shares::<Beginning<Clof<Ticket, Mcs>, true, CROWDED>>(threads, threads / 2, rounds, 0);
    };
    object_lets_go: |threads, rounds| {
        rwlock::lets_go::<Beginning<Mcs, true, NAMED>>(threads, 3, rounds, 2);
    };
    object_of_a_host: |threads, rounds| {
        host::excludes(object::hosted(host::inflated::<Mcs>()), threads, rounds, 1);
    };
    object_of_a_host_that_is_left: |threads, rounds| {
        let writers = host::inflated_abandonable::<Tas>();
        host::is_claimed(object::hosted(writers), threads, rounds, [Some(2_000), Some(20_000)]);
    };
    object_is_read_again: |_threads, rounds| {
        rwlock::is_read_on::<Beginning<Mcs, true, NAMELESS>>(rounds);
    };
    condvar_signals: |threads, rounds| {
        condvar::tells::<Futex>(threads, rounds, false, rounds % 2 == 0);
    };
    condvar_signals_looking: |threads, rounds| {
        condvar::tells::<Looking>(threads, rounds, rounds % 3 == 0, rounds % 2 == 0);
    };
    condvar_is_left: |_threads, rounds| (0..rounds).for_each(|_| condvar::is_left::<Looking>());
    condvar_signals_queued: |threads, rounds| {
        condvar::tells::<Queued>(threads, rounds, false, true);
    };
    condvar_broadcasts: |threads, rounds| {
        condvar::tells::<Futex>(threads, rounds, true, rounds % 2 == 0);
    };
    condvar_spends_no_signal: |threads, rounds| {
        let cancelled = rounds % 2 == 0;
        condvar::spends_no_signal_on_a_waiter_that_gave_up::<Futex>(threads, cancelled, cancelled);
    };
    condvar_is_destroyed: |_threads, rounds| condvar::is_destroyed::<Futex>(rounds % 2 == 0);
    once_is_run: |threads, _rounds| once::is_run_once(threads);
    once_is_run_again: |threads, _rounds| once::is_run_again(threads);
    once_is_awaited: |threads, _rounds| {
        once::is_awaited(threads);
        once::is_awaited_again(threads);
    };
    once_lock: |threads, _rounds| {
        once::keeps_one_value(threads);
        once::is_computed_again(threads);
        once::is_computed_once(threads);
    };
    barrier_holds_back: |threads, rounds| barrier::holds_back(threads, rounds);
    semaphore_excludes: |threads, rounds| {
        semaphore::excludes(threads, rounds);
        semaphore::admits(threads, threads / 2);
        semaphore::adds_for_all(threads);
    };
    semaphore_gives_up: |threads, _rounds| {
        semaphore::is_tried(threads);
        semaphore::loses_no_permit(threads);
    };
    sanl_votes: |threads, rounds| delegate::runs::<Sanl<Mcs, Voting>>(threads, rounds, 1);
    sanl_is_tried: |threads, rounds| delegate::is_tried::<Sanl>(threads, rounds, 1);
    sanl_panics: |threads, _rounds| delegate::panics::<Bringing<Chained>>(threads);
    sanl_brings: |threads, rounds| delegate::runs::<Bringing<Patiently>>(threads, rounds, 1);
    sanl_brings_late: |threads, rounds| delegate::runs::<Bringing<Hastily>>(threads, rounds, 1);
    sanl_brings_apart: |threads, rounds| delegate::runs::<Bringing<Apart>>(threads, rounds, 0);
    sanl_lets_go: |threads, rounds| {
        delegate::lets_go::<Bringing<Patiently>>(threads, rounds, threads / 2, 1);
    };
    delegated_waits: |threads, _rounds| {
        delegate::waits_for_others::<CcSynch<MayPark, 2>>(threads, threads / 2);
    };
    delegated_pauses: |threads, _rounds| {
        delegate::pauses::<CcSynch<MayPark, 2>>(threads, threads / 2);
        delegate::pauses::<Queueing>(threads, threads / 2);
        delegate::pauses_in_turn::<Sanl>(2);
        delegate::stops_pausing::<Tas>(threads);
    };
    delegated_pauses_at: |threads, _rounds| {
        delegate::pauses_at::<Bringing<Patiently>>(threads);
    };
    posting_posts: |threads, _rounds| {
        delegate::posts::<CcSynch<MayPark, 2>>(threads, threads / 2);
    };
    delegated_waits_within: |threads, _rounds| {
        delegate::waits_within::<Qd<Mcs, MayPark, 2>>(threads, threads / 2);
    };
    delegated_stops_waiting: |threads, _rounds| delegate::stops_waiting::<Tas>(threads);
    posting_hurried: |threads, _rounds| {
        delegate::posts_beside_hurried::<Tas>(threads, threads / 2);
    };
    waking_waits: |threads, _rounds| {
        waking::waits::<Tas>(threads, threads / 2);
        waking::waits::<Mcs>(threads, threads);
    };
    waking_passes_over: |_threads, _rounds| waking::passes_over_unpolled::<Mcs>();
    waking_drops: |threads, _rounds| waking::drops_what_waits::<Tas>(threads, threads / 2);
    waking_places: |_threads, _rounds| waking::keeps_places::<Mcs>();
    waking_call: |_threads, _rounds| waking::passes_a_call_on::<Mcs>();
    waking_hurried: |threads, _rounds| {
        waking::waits_beside_hurried::<HmcsT1>(threads, threads / 2);
    };
    waking_shared: |threads, _rounds| {
        waking_shared::waits(threads, threads / 2, threads / 4);
        waking_shared::waits_beside_readers(threads);
        waking_shared::drops_what_waits(threads, false);
        waking_shared::drops_what_waits(threads, true);
        waking_shared::wakes_readers_together();
        waking_shared::stands_behind_writers(false);
        waking_shared::stands_behind_writers(true);
        waking_shared::leaves_no_reader_behind();
        waking_shared::passes_over_unpolled();
        waking_shared::reads_beside_dropped_writer();
    };
    posting_drops: |threads, _rounds| delegate::drops_what_it_posted::<Mcs>(threads);
    posting_is_inside: |threads, _rounds| {
        delegate::serves_no_task_inside::<CcSynch<MayPark, 2>>(threads);
    };
    sanl_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<Bringing<Patiently>>(threads);
    };
    sanl_is_locked: |threads, _rounds| {
        delegate::serves_nobody_locked::<Bringing<Patiently>>(threads);
    };
    sanl_unlocks: |threads, _rounds| {
        delegate::unlocks_in_order_of_locking::<Bringing<Patiently>>(threads);
    };
    cc_synch_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<CcSynch<MayPark, 2>>(threads);
    };
    cc_synch_is_locked: |threads, _rounds| {
        delegate::serves_nobody_locked::<CcSynch<MayPark, 2>>(threads);
        delegate::unlocks_in_order_of_locking::<CcSynch<MayPark, 2>>(threads);
    };
    cc_synch_hands_on: |threads, rounds| delegate::runs::<CcSynch<MayPark, 2>>(threads, rounds, 2);
    cc_synch_lets_go: |threads, rounds| {
        delegate::lets_go::<CcSynch<MayPark, 2>>(threads, rounds, threads / 2, 1);
    };
    sanl_plus_lets_go: |threads, rounds| {
        let hurried = threads / 2;
        delegate::lets_go::<SanlPlus<MayPark, 2, 0, RIDES, 1, 2>>(threads, rounds, hurried, 1);
    };
    fc_lets_go: |threads, rounds| {
        delegate::lets_go::<Fc<Mcs, MayPark, 1, 0>>(threads, rounds, threads / 2, 1);
    };
    h_synch_excludes: |threads, rounds| {
        delegate::runs::<HSynch<Mcs, MayPark, 2, 4>>(threads, rounds, 2);
    };
    sanl_plus_rides: |threads, rounds| {
        delegate::runs::<SanlPlus<MayPark, 2, 0, RIDES, 1, 2>>(threads, rounds, 1);
    };
    sanl_plus_mixes: |threads, _rounds| {
        delegate::mixes::<SanlPlus<MayPark, 2, 0, RIDES, 1, 2>>(threads);
    };
    sanl_plus_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<SanlPlus<MayPark, 2, 0, RIDES, 1, 2>>(threads);
    };
    sanl_plus_goes_on_past_one_that_left: |_threads, _rounds| {
        delegate::goes_on_past_one_that_left::<Queueing>();
    };
    sanl_plus_unlocks: |threads, _rounds| {
        delegate::unlocks_in_order_of_locking::<Places<QUEUE, Usual>>(threads);
    };
    sanl_plus_meets: |threads, rounds| delegate::runs::<Settling>(threads, rounds, 1);
    sanl_plus_meets_hurried: |threads, rounds| {
        delegate::lets_go::<Settling>(threads, rounds, threads / 2, 1);
    };
    sanl_plus_passes: |threads, rounds| {
        delegate::lets_go::<Passing>(threads, rounds, threads / 2, 1);
    };
    sanl_plus_insists: |threads, rounds| {
        delegate::lets_go::<Waiting>(threads, rounds, threads / 2, 1);
    };
    sanl_plus_polls: |threads, rounds| {
        delegate::lets_go::<Polling>(threads, rounds, threads / 2, 1);
    };
    sanl_plus_stays: |threads, rounds| {
        delegate::lets_go::<Staying>(threads, rounds, threads / 2, 1);
    };
    sanl_plus_turns_are_tried: |threads, _rounds| {
        delegate::turns_are_tried::<Queueing>(threads, threads / 2);
        delegate::turns_are_tried::<Settling>(threads, threads / 2);
    };
    thin_runs: |threads, rounds| {
        delegate::runs::<Growing<Mcs>>(threads, rounds, 1);
        delegate::runs::<Combining>(threads, rounds, 1);
    };
    thin_scarce: |threads, rounds| delegate::runs::<Scarce<Mcs>>(threads, rounds, 1);
    thin_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<Combining>(threads);
        delegate::unlocks_in_order_of_locking::<Combining>(threads);
    };
    thin_is_tried: |threads, rounds| {
        delegate::is_tried::<Growing<SanlPlus>>(threads, rounds, threads / 2);
        delegate::turns_are_tried::<Growing<SanlPlus>>(threads, threads / 2);
    };
    oyama_hands_on: |threads, rounds| {
        delegate::runs::<Oyama<MayPark, 2>>(threads, rounds, 2);
    };
    oyama_in_order: |threads, rounds| {
        delegate::runs::<Oyama<MayPark, 4, true>>(threads, rounds, 1);
    };
    oyama_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<Oyama<MayPark, 2>>(threads);
    };
    oyama_runs_few: |threads, _rounds| delegate::runs_few::<Oyama<MayPark, 2>>(threads, 2);
    qd_posts: |threads, rounds| delegate::runs::<Qd<Mcs, MayPark, 2>>(threads, rounds, 1);
    qd_opens_again: |threads, _rounds| delegate::runs_again::<Qd<Mcs, MayPark, 1>>(threads);
    qd_lets_go: |threads, rounds| {
        delegate::lets_go::<Qd<Mcs, MayPark, 2>>(threads, rounds, threads / 2, 1);
    };
    p_sim_adds: |threads, rounds| p_sim::adds::<12>(threads, rounds, 0);
    p_sim_stamps_wrap: |threads, rounds| p_sim::adds::<12>(threads, rounds, (1 << 56) - rounds);
    p_sim_comes_and_goes: |threads, rounds| p_sim::comes_and_goes::<12>(threads, rounds);
    p_sim_panics: |threads, _rounds| p_sim::panics::<12>(threads);
    qd_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<Qd<Mcs, MayPark, 2>>(threads);
    };
    fc_is_inside: |threads, _rounds| {
        delegate::serves_nobody_inside::<Fc<Mcs, MayPark, 1, 0>>(threads);
    };
    rcl_is_attended: |threads, rounds| delegate::is_attended::<Rcl>(threads, rounds, 1);
    rcl_is_brought_by_its_server: |_threads, _rounds| {
        delegate::is_brought_by_its_server::<Rcl>();
    };
    rcl_is_attended_within: |threads, rounds| delegate::is_attended_within::<Rcl>(threads, rounds);
    fc_combines: |threads, rounds| delegate::runs::<Fc<Mcs, MayPark, 1, 0>>(threads, rounds, 1);
    arena_hands_out_once: |threads, rounds| arena::hands_out_once(threads, rounds, 12);
    arena_adopts_orphans: |threads, _rounds| arena::adopts_orphans(threads);
    arena_returns_what_was_left: |_threads, rounds| arena::returns_what_was_left(rounds as u32);
    ticket_in_place: |threads, rounds| {
        host::excludes(host::in_place::<Ticket>(), threads, rounds, 1);
    };
    ticket_shortly_in_place: |threads, rounds| {
        host::excludes(host::in_place_fast::<Ticket>(), threads, rounds, 1);
    };
    tas_shortly_in_place: |threads, rounds| {
        host::excludes(host::in_place_fast::<Tas>(), threads, rounds, 1);
    };
    mcs_in_place: |threads, rounds| host::excludes(host::in_place::<Mcs>(), threads, rounds, 1);
    clh_in_place: |threads, rounds| host::excludes(host::in_place::<Clh>(), threads, rounds, 1);
    // More threads than admission slots.
    mcs_in_scarcity: |threads, rounds| {
        host::excludes_in_scarcity(host::in_place::<Mcs>(), 4 * threads, rounds);
    };
    mcs_claimed: |threads, rounds| {
        host::is_claimed(host::in_place::<Mcs>(), threads, rounds, [Some(CLAIM); 3]);
    };
    ticket_claimed: |threads, rounds| {
        host::is_claimed(host::in_place_fast::<Ticket>(), threads, rounds, [Some(CLAIM); 3]);
    };
    anderson_claimed: |threads, rounds| {
        host::is_claimed(host::inflated::<Anderson>(), threads, rounds, [None, Some(CLAIM), Some(CLAIM)]);
    };
    hmcs_t_inflated_abandoned: |threads, rounds| {
        type Lock = HmcsT<(Numa,), 4, 0, MayPark, 2>;
        host::is_claimed(host::inflated_abandonable::<Lock>(), threads, rounds, [Some(CLAIM); 3]);
        host::is_claimed_by_many(host::inflated_abandonable::<HmcsT1>(), [Some(CLAIM / 20); 4]);
    };
    a_c_bo_clh_inflated_abandoned: |threads, rounds| {
        type Lock = AClof<AClh, Bo, Numa, 2, 4>;
        host::is_claimed(host::inflated_abandonable::<Lock>(), threads, rounds, [Some(CLAIM); 3]);
    };
    claimed_by_many: |_threads, _rounds| {
        host::is_claimed_by_many(host::in_place::<Ticket>(), [None, Some(CLAIM), None]);
    };
    anderson_inflated: |threads, rounds| {
        host::excludes(host::inflated::<Anderson>(), threads, rounds, 1);
    };
};

/// All tests of this module.
pub fn tests() -> Vec<Trial> {
    let both = |(name, many, few): &Sizes| {
        [
            passes(format!("time::{name}"), &EPYC, || vec![by_time()], *many),
            passes(
                format!("chance::{name}"),
                &KUNPENG,
                || by_chance().collect(),
                *few,
            ),
        ]
    };
    CLIENTS.iter().flat_map(both).collect()
}

/// The client of that name, with few threads.
pub fn few(name: &str) -> Client {
    let client = CLIENTS.iter().find(|(known, ..)| *known == name);
    client
        .unwrap_or_else(|| panic!("no client is called {name}"))
        .2
}
