//! The calling thread's own record.

use super::chunks::{self, Tracing};
use super::drawing::Drawing;
use super::{DEBUGGED, LEVEL, PROFILED, RECORDED, WATCHED, file, given, taken};
use crate::choice::{choice, is_plain_default, variable_c};
use crate::layout::Mutex;
use crate::libc::{__register_atfork, close, getpid, open, read};
use crate::next;
use crate::{filter, mutex, owner};
use cohort::door::{
    Observer, PAGE, generation, generation_so_far, is_gone, now, set_observer, system_call,
    thread_id,
};
use cohort::records::{
    ALWAYS, Doing, Draws, FREE, HOLDS, Hold, How, LENT, MAPS_BYTES, NEAR, RecordedSite, Records,
    STACK_BYTES, STACKS, Stack, TAG_BITS, TALLIES, THREADS, Thread, WHOLE, WRITTEN, Waiting,
};
use core::cell::Cell;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence};

pub use cohort::door::CallSite as Caller;

/// Holds that a forked child is given.
const MIRRORED: usize = 64;

/// Copy of what a thread holds, in memory that a fork copies. Written when the thread forks, for
/// the child.
#[repr(C)]
struct Mirror {
    /// Whether the copy is current: set during a fork.
    is_fresh: Cell<bool>,
    /// Whether the copy is complete.
    is_whole: Cell<bool>,
    held: Cell<u32>,
    holds: [[Cell<u64>; 2]; MIRRORED],
    /// Number of mutexes that other threads hold meanwhile, as far as there is room.
    left: Cell<u32>,
    /// Each of these, with its holder's tag; 0 if the child has found it free.
    lefts: [[Cell<u64>; 2]; MIRRORED],
}

/// State of a thread in its own memory.
#[repr(C)]
struct Words {
    /// The process that `slot` is valid in.
    generation: Cell<u32>,
    /// The record's index, plus one; 0: none.
    slot: Cell<u32>,
    /// The process and the watch that the thread has a record in, see [`key`]; 0: none.
    key: Cell<u32>,
    /// The record; null: none.
    thread: Cell<*const Thread>,
    /// Selects the acquisitions to time.
    drawing: Drawing,
    /// The adaptive locks' latest events.
    heard: Heard,
    /// Its place in the trace.
    tracing: Tracing,
    /// The segment that it last handed on; 0: none.
    shared: Cell<u32>,
    /// Other threads' segments that its present one follows, by number.
    followed: [Cell<u32>; FOLLOWED],
}

/// Size of a thread's cache of segments that it follows.
const FOLLOWED: usize = 8;

/// Events of an adaptive lock while the thread acquires or releases it.
#[repr(C)]
pub struct Heard {
    /// Its mode, an index into [`Mode::ALL`](cohort::door::Mode::ALL) plus one; 0: no event.
    pub mode: Cell<u32>,
    /// Number of mode changes.
    pub changes: Cell<u32>,
}

impl Heard {
    /// Clears the events.
    #[inline(always)]
    pub fn begin(&self) {
        self.mode.set(0);
        self.changes.set(0);
    }
}

/// Stores locks' events for the thread that causes them.
static OBSERVER: Observer = Observer {
    waited: |mode| heard().mode.set(mode as u32 + 1),
    changed: |change| {
        heard().mode.set(change.to as u32 + 1);
        heard().changes.set(heard().changes.get() + 1);
    },
};

core::arch::global_asm!(
    ".section .tbss.cohort_observed,\"awT\",@nobits",
    ".balign 8",
    ".hidden cohort_observed",
    ".globl cohort_observed",
    ".type cohort_observed,%object",
    ".size cohort_observed,{size}",
    "cohort_observed:",
    ".zero {size}",
    ".text",
    size = const size_of::<Words>(),
);

#[inline(always)]
fn words() -> &'static Words {
    let at: *const Words;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the offset of this library's own symbol and the thread pointer. Both are
    // constant for a thread, so the compiler may merge reads.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + cohort_observed@GOTTPOFF]",
            out(reg) at,
            options(pure, nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the same.
    unsafe {
        core::arch::asm!(
            "adrp {1}, :gottprel:cohort_observed",
            "ldr {1}, [{1}, :gottprel_lo12:cohort_observed]",
            "mrs {0}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) at,
            out(reg) _,
            options(pure, nomem, nostack),
        );
    }
    // SAFETY: the words live as long as their thread, which is the one running.
    unsafe { &*at }
}

/// The mapped records of the process with the generation [`OF`]; null before they are mapped, and
/// where they cannot be.
static RECORDS: AtomicPtr<Records> = AtomicPtr::new(ptr::null_mut());
static OF: AtomicU32 = AtomicU32::new(0);

/// What is recorded; constant once records are mapped.
static FORM: AtomicU8 = AtomicU8::new(Form::Watched as u8);

/// What is recorded of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Form {
    /// Debugged: the holder of each lock where that takes one store, and the waits.
    Stuck = 0,
    /// And all holds, and incorrect uses.
    Owner = 1,
    /// And the lock order.
    Order = 2,
    /// Profiled.
    Profiled = 3,
    /// Profiled while a command observes.
    Watched = 4,
    /// Traced while a window is open.
    Traced = 5,
}

impl Form {
    /// Whether threads record only under the present watch.
    #[inline(always)]
    pub fn has_watches(self) -> bool {
        self >= Self::Watched
    }

    /// Whether the process is profiled, traced or observed as it runs, not debugged.
    #[inline(always)]
    pub fn is_profiled(self) -> bool {
        self >= Self::Profiled
    }

    fn now() -> Self {
        match FORM.load(Relaxed) {
            0 => Self::Stuck,
            1 => Self::Owner,
            2 => Self::Order,
            3 => Self::Profiled,
            5 => Self::Traced,
            _ => Self::Watched,
        }
    }
}

/// The word that each lock operation reads first: zero if nothing is recorded. In a process that
/// may be observed while it runs, the present watch.
pub static LOOK: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const ALL).cast_mut());

/// Stands in for the watch if everything is recorded, and before the first use in this process.
static ALL: AtomicU32 = AtomicU32::new(1);

/// Stands in for the watch if the process has no records and will have none.
static NONE: AtomicU32 = AtomicU32::new(0);

/// The mirrors of all threads.
static MIRRORS: AtomicPtr<Mirror> = AtomicPtr::new(ptr::null_mut());

/// Observed thread.
#[derive(Clone, Copy)]
pub struct Own {
    pub thread: &'static Thread,
    /// What is recorded.
    pub form: Form,
    /// The present watch.
    pub watch: u32,
}

/// The sampling state of the calling thread, which has a record.
#[inline(always)]
pub fn drawing() -> &'static Drawing {
    &words().drawing
}

/// Runs `run` with the calling thread recording into another record, under that watch and with that
/// record's draws. The thread has a record.
pub fn in_another(
    thread: &'static Thread,
    draws: &'static [Draws; TALLIES],
    watch: u32,
    run: impl FnOnce(),
) {
    thread.follows.follow(watch);
    let own = words().thread.replace(thread);
    words().drawing.in_others(draws, run);
    words().thread.set(own);
}

/// The calling thread's events of adaptive locks.
#[inline(always)]
pub fn heard() -> &'static Heard {
    &words().heard
}

/// The calling thread's place in the trace.
#[inline(always)]
pub fn tracing() -> &'static Tracing {
    &words().tracing
}

/// The calling thread's record; none if nothing is recorded at present.
#[inline(always)]
pub fn own() -> Option<Own> {
    let own = any()?;
    if own.form.has_watches() {
        if own.watch == 0 {
            return None;
        }
        if !own.thread.follows.is_mine(own.watch) {
            own.begin_anew();
        }
    }
    Some(own)
}

/// Identifies the present watch of this process: the watch's number and the process's generation,
/// combined. The generation is 0 in a forked child at first. Both are far below the values that
/// would collide. 0 for a thread without a record.
#[inline(always)]
fn key(watch: u32, generation: u32) -> u32 {
    watch.wrapping_add(generation.wrapping_mul(0x9e37_79b1))
}

/// The calling thread's record, if it already records under that watch, the value of [`LOOK`], in a
/// process of that form.
#[inline(always)]
pub fn usual(form: Form, watch: u32) -> Option<Own> {
    let words = words();
    if words.key.get() != key(watch, generation_so_far()) {
        return None;
    }
    Some(Own {
        // SAFETY: a matching key means that there is a record, in records that stay mapped.
        thread: unsafe { &*words.thread.get() },
        form,
        watch,
    })
}

/// The calling thread's record, whether or not a command observes.
#[inline(always)]
pub fn any() -> Option<Own> {
    let words = words();
    if words.generation.get() != generation() {
        begin(words);
    }
    // SAFETY: null, or in records that stay mapped.
    let thread = unsafe { words.thread.get().as_ref() }?;
    Some(Own::of(thread))
}

/// The calling thread's tag for a mutex acquired at that site: its record's index and the site. The
/// thread has a record.
#[inline(always)]
pub fn tag(returns_to: usize) -> usize {
    tag_of(words().slot.get() as usize, returns_to)
}

/// The index of the calling thread's record, plus one. The thread has a record.
#[inline(always)]
pub fn slot() -> u32 {
    words().slot.get()
}

/// The index of the calling thread's record, plus one, for signallers of the condition at which it
/// is about to wait; 0 if it is not observed.
pub fn waiting_as() -> u32 {
    own().map_or(0, |_| slot())
}

/// The lowest bit of [`Thread::told`]: the mutex was held at the notification.
pub const WAS_TAKEN: u64 = 1;

/// Records that the thread of that number, a condition's waiter, was requeued at its mutex.
pub fn adopted(number: u32) {
    // SAFETY: null, or mapped permanently.
    let records = unsafe { RECORDS.load(Acquire).as_ref() };
    let slot = (number as usize).checked_sub(1);
    if let (Some(records), Some(slot)) = (records, slot) {
        records.threads[slot].told.store(now() | WAS_TAKEN, Release);
    }
}

/// Records that the calling thread's wait at a condition has ended, and that it locks its mutex
/// again.
pub fn relocks() {
    let Some(own) = own() else { return };
    let mutex = own.waits_with();
    if mutex != 0 && own.thread.told.load(Relaxed) == 0 {
        let taken = own.form.is_profiled() && taken::is_mutex_taken(mutex);
        let at = now() & !WAS_TAKEN | u64::from(taken);
        own.thread.told.store(at, Release);
    }
}

/// Records that the calling thread holds its mutex again and, cancelled, does not return to its
/// wait.
pub fn is_cancelled() {
    if let Some(own) = own()
        && own.waits_with() != 0
    {
        own.ends();
    }
}

/// Identifies the watch and the process of the calling thread's records.
#[inline(always)]
pub fn epoch() -> u32 {
    words().key.get()
}

/// The tag for a record's index, plus one, and a site.
#[inline(always)]
fn tag_of(slot: usize, returns_to: usize) -> usize {
    slot << TAG_BITS | returns_to & ((1 << TAG_BITS) - 1)
}

/// The C library's name for the calling thread.
fn pthread() -> usize {
    // SAFETY: the function has no preconditions.
    unsafe { next::pthread_self() }
}

/// Gives the thread a record of this process.
#[cold]
#[inline(never)]
fn begin(words: &Words) {
    let here = generation();
    let before = words.slot.get().checked_sub(1);
    words.slot.set(0);
    words.key.set(0);
    words.thread.set(ptr::null());
    words.generation.set(here);
    words.drawing.forget();
    words.shared.set(0);
    words.followed.iter().for_each(|known| known.set(0));
    let Some(records) = records(here) else { return };
    let Some(slot) = place(records, before) else {
        records.lost_threads.fetch_add(1, Relaxed);
        return;
    };
    let thread = &records.threads[slot];
    thread.uncertain.store(0, Relaxed);
    records.segment_of[slot].store(0, Relaxed);
    thread.pthread.store(pthread() as u64, Relaxed);
    thread.owner.store(owner::me() as u64, Relaxed);
    let watch = records.watch.number();
    begin_anew(thread, watch);
    words.slot.set(slot as u32 + 1);
    words.thread.set(thread);
    words.key.set(key(watch, here));
    if Form::now() == Form::Traced {
        words.tracing.begin_thread(pthread() as u64);
        // The window begins with the thread's first operation.
        thread.follows.follow(0);
        return;
    }
    if let Some(old) = before {
        // In a forked child: the thread's holds in its parent.
        inherit(&Own::of(thread), mirror(old as usize));
    }
}

/// Adopts the holds of a thread that forked; without a fresh copy, the holds are uncertain.
fn inherit(own: &Own, held: &Mirror) {
    let is_whole = if held.is_fresh.replace(false) {
        for [object, site] in held.holds.iter().take(held.held.get() as usize) {
            if object.get() != 0 {
                let (site, how) = Hold::unpack(site.get());
                own.holds_now(object.get() as usize, how, site as usize);
            }
        }
        for [object, tag] in held.lefts.iter().take(held.left.get() as usize) {
            let (slot, site) = (tag.get() >> TAG_BITS, tag.get() & ((1 << TAG_BITS) - 1));
            if object.get() != 0 {
                // No thread of this process has that record: new threads take later ones.
                let nobody = Own::of(&own.records().threads[slot as usize - 1]);
                nobody.holds_now(object.get() as usize, How::Mutex, site as usize);
            }
        }
        held.is_whole.get()
    } else {
        false
    };
    own.thread.uncertain.store(!is_whole as u32, Relaxed);
}

/// The mirror of the thread at that index.
fn mirror(slot: usize) -> &'static Mirror {
    // SAFETY: there is one mirror per index; only the thread at the index writes it.
    unsafe { &*MIRRORS.load(Acquire).add(slot) }
}

/// The calling thread, which forks, if it has a record and the process is debugged.
fn forking() -> Option<(&'static Thread, &'static Mirror)> {
    let words = words();
    if Form::now().is_profiled() || words.generation.get() != generation_so_far() {
        // A profile does not need the holds that a child inherits.
        return None;
    }
    // SAFETY: null, or in records that are mapped for ever.
    let thread = unsafe { words.thread.get().as_ref() }?;
    Some((thread, mirror(words.slot.get() as usize - 1)))
}

/// Copies the thread's holds for the child that it is about to have: the parent goes on changing
/// the record.
extern "C" fn before_fork() {
    // A thread that has taken no lock yet has no record, but other threads may hold locks.
    if OF.load(Acquire) != 0 && OF.load(Acquire) == generation_so_far() {
        any();
    }
    let Some((thread, mirror)) = forking() else {
        return;
    };
    let held = thread.held.load(Relaxed);
    // SAFETY: a thread that has a record has records, permanently.
    let records = unsafe { &*RECORDS.load(Relaxed) };
    let holds = records.holds(thread, held as usize);
    for (hold, [object, site]) in holds.zip(&mirror.holds) {
        object.set(hold.object.load(Relaxed));
        site.set(hold.site.load(Relaxed));
    }
    let is_listed = thread.beyond.load(Relaxed) == 0 && thread.uncertain.load(Relaxed) == 0;
    mirror.is_whole.set(is_listed && held as usize <= MIRRORED);
    mirror.held.set(held);
    // At the level `stuck`, the mutexes themselves name their holders.
    let left = match Form::now() {
        Form::Owner | Form::Order => list_others(records, thread, mirror),
        _ => 0,
    };
    mirror.left.set(left as u32);
    mirror.is_fresh.set(true);
}

/// Copies the mutexes that other threads hold, which a child would wait for forever. Returns their
/// number.
fn list_others(records: &Records, this: &Thread, mirror: &Mirror) -> usize {
    let used = (records.used.load(Acquire) as usize).min(THREADS);
    let mut room = mirror.lefts.iter();
    for (slot, thread) in records.threads[..used].iter().enumerate() {
        let held = thread.held.load(Acquire) as usize;
        if held == 0 || ptr::eq(thread, this) {
            continue;
        }
        let waiting = thread.waiting();
        let at_condition = waiting.map_or(0, |(_, waiting)| waiting.mutex);
        for hold in records.holds(thread, held) {
            let (site, how) = Hold::unpack(hold.site.load(Relaxed));
            let lock = hold.object.load(Relaxed);
            if lock == 0 || lock == at_condition || how != How::Mutex {
                continue;
            }
            let Some([object, tag]) = room.next() else {
                return MIRRORED;
            };
            object.set(lock);
            tag.set(tag_of(slot + 1, site as usize) as u64);
        }
    }
    MIRRORED - room.len()
}

extern "C" fn after_fork() {
    if let Some((_, mirror)) = forking() {
        mirror.is_fresh.set(false);
    }
}

/// The process ID of this process, and the index of its forking thread's record in the parent, plus
/// one; 0: none.
static FORKER: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// The forking thread's names, as in a record.
static FORKER_NAMES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Gives the thread that forked this process its record before other threads look for holders: it
/// may hold a lock and touch no other.
fn name_forker(records: &Records) {
    let [process, slot] = &FORKER;
    let slot = slot.load(Relaxed).wrapping_sub(1) as usize;
    let process = process.load(Relaxed);
    let Some(thread) = records.threads.get(slot) else {
        return;
    };
    if process == getpid() {
        let [pthread, owner] = &FORKER_NAMES;
        thread.pthread.store(pthread.load(Relaxed) as u64, Relaxed);
        thread.owner.store(owner.load(Relaxed) as u64, Relaxed);
        thread.id.store(process, Relaxed);
        begin_anew(thread, records.watch.number());
    }
}

/// Makes a child set up its records again.
extern "C" fn in_child() {
    LOOK.store((&raw const ALL).cast_mut(), Release);
    words().key.set(0);
    let [process, slot] = &FORKER;
    process.store(getpid(), Relaxed);
    slot.store(words().slot.get(), Relaxed);
    let [name, owner] = &FORKER_NAMES;
    name.store(pthread(), Relaxed);
    owner.store(owner::me(), Relaxed);
    let Some(slot) = words().slot.get().checked_sub(1) else {
        return;
    };
    let mirror = mirror(slot as usize);
    if mirror.is_fresh.get() {
        for [object, _] in mirror.lefts.iter().take(mirror.left.get() as usize) {
            // Its thread may have released it between the copy and the fork.
            if object.get() != 0 && !is_taken(object.get() as usize) {
                object.set(0);
            }
        }
    }
}

/// Whether there is a held mutex at an address, for which a child would wait. Only known under the
/// default lock: in a child, other locks stay held by the parent's threads.
fn is_taken(object: usize) -> bool {
    // A filter may kill for the call below.
    if !is_plain_default() || filter::is_there() {
        return false;
    }
    let bytes = [const { AtomicU8::new(0) }; size_of::<Mutex>()];
    let local = [bytes.as_ptr() as usize, bytes.len()];
    let remote = [object, bytes.len()];
    // SAFETY: the call writes into bytes that are atomics.
    let read = unsafe { read_memory(local, &[remote]) };
    // SAFETY: the memory was a mutex just before, and this process has one thread.
    let is_taken = || unsafe { mutex::is_taken(&*ptr::with_exposed_provenance(object)) };
    read == bytes.len() as isize && is_taken() == Some(true)
}

/// Registers fork handlers with the C library. No other handler is registered yet, so they run
/// before the program's own in the child, and after them in the parent.
pub fn mind_forks() {
    // SAFETY: the functions live as long as the program.
    unsafe {
        __register_atfork(
            Some(before_fork),
            Some(after_fork),
            Some(in_child),
            ptr::null_mut(),
        )
    };
}

/// An index that no living thread has. `before` if it is free or the calling thread's; a forked
/// child's thread had it in the parent.
fn place(records: &Records, before: Option<u32>) -> Option<usize> {
    let me = thread_id();
    let take = |place: usize, id: u32| {
        let thread = &records.threads[place];
        thread.id.compare_exchange(id, me, AcqRel, Relaxed).is_ok()
    };
    if let Some(before) = before
        && (records.threads[before as usize].id.load(Relaxed) == me || take(before as usize, 0))
    {
        records.used.fetch_max(before + 1, AcqRel);
        return Some(before as usize);
    }
    loop {
        let fresh = records.used.fetch_add(1, AcqRel) as usize;
        if fresh >= THREADS {
            break;
        }
        if take(fresh, 0) {
            return Some(fresh);
        }
    }
    records.used.store(THREADS as u32, Relaxed);
    (0..THREADS).find(|place| {
        let id = records.threads[*place].id.load(Acquire);
        id != 0 && is_gone(id) && take(*place, id)
    })
}

/// This process's records, created on first use.
fn records(here: u32) -> Option<&'static Records> {
    if OF.load(Acquire) != here {
        make(here)?;
    }
    // SAFETY: null, or mapped permanently.
    unsafe { RECORDS.load(Acquire).as_ref() }
}

/// Creates this process's records, unless another thread does.
#[cold]
fn make(here: u32) -> Option<()> {
    let before = RECORDS.load(Acquire);
    // SAFETY: null, or mapped permanently, and complete.
    let old = unsafe { before.as_ref() };
    if old.is_some_and(|there| there.generation.load(Relaxed) == here) {
        return Some(());
    }
    let profiled = variable_c(PROFILED);
    let traced = variable_c(RECORDED);
    let folder = profiled.or(traced).or_else(|| variable_c(DEBUGGED));
    let is_watched = variable_c(WATCHED).is_some_and(|value| !value.is_empty());
    if folder.is_none() && !is_watched {
        give_up(before, here);
        return None;
    }
    let file = match folder {
        Some(folder) => file::named(folder.to_bytes(), here),
        None => file::nameless(),
    };
    let made = file.and_then(file::map).and_then(|records| {
        if MIRRORS.load(Acquire).is_null() {
            let mirrors = file::anonymous(size_of::<Mirror>() * THREADS)?.cast();
            // Several threads may begin concurrently; a spare mapping stays, untouched.
            let _ = MIRRORS.compare_exchange(ptr::null_mut(), mirrors, AcqRel, Acquire);
        }
        Some(records)
    });
    let made = made
        .filter(|_| profiled.is_some() || traced.is_none_or(|folder| chunks::begin(folder, here)));
    let (Some(file), Some(made)) = (file, made) else {
        if let Some(file) = file {
            close(file);
        }
        give_up(before, here);
        return None;
    };
    made.process.store(getpid(), Relaxed);
    made.generation.store(here, Relaxed);
    if profiled.is_none() && traced.is_some() {
        let _ = made.watch.begin(0);
    } else if folder.is_some() {
        made.watch.begin_for_ever();
    }
    // Mutexes may still carry tags of the parent's threads.
    let places = old.map_or(0, |old| old.used.load(Acquire).min(THREADS as u32));
    made.used.store(places, Relaxed);
    let form = if profiled.is_some() {
        Form::Profiled
    } else if traced.is_some() {
        Form::Traced
    } else if folder.is_none() {
        Form::Watched
    } else {
        match variable_c(LEVEL).map(core::ffi::CStr::to_bytes) {
            Some(b"stuck") => Form::Stuck,
            Some(b"owner") => Form::Owner,
            _ => Form::Order,
        }
    };
    FORM.store(form as u8, Relaxed);
    if form == Form::Order {
        given::begin_anew();
    }
    if !form.is_profiled() {
        name_forker(made);
    }
    // The first use decides which lock serves, permanently.
    let _ = choice();
    let published = RECORDS
        .compare_exchange(before, ptr::from_ref(made).cast_mut(), AcqRel, Acquire)
        .is_ok();
    if !published {
        // Another thread was first.
        file::unmap(made);
    }
    if published && folder.is_none() {
        file::keep(file);
        set_observer(&OBSERVER);
    } else {
        close(file);
    }
    if published && form.has_watches() {
        LOOK.store(ptr::from_ref(made.watch.word()).cast_mut().cast(), Release);
    }
    OF.store(here, Release);
    Some(())
}

/// Marks this process as without records, unless another thread has created them.
fn give_up(before: *mut Records, here: u32) {
    if RECORDS
        .compare_exchange(before, ptr::null_mut(), AcqRel, Acquire)
        .is_ok()
    {
        LOOK.store((&raw const NONE).cast_mut(), Release);
        OF.store(here, Release);
    }
}

#[cfg(target_arch = "x86_64")]
const PROCESS_VM_READV: usize = 310;
#[cfg(target_arch = "aarch64")]
const PROCESS_VM_READV: usize = 270;

/// Reads this process's memory as another process would: unmapped memory is an error, not a fault.
/// Returns the number of bytes; negative for an error.
///
/// # Safety
/// The bytes at `local`, an address and a length, are writable.
unsafe fn read_memory(local: [usize; 2], remote: &[[usize; 2]]) -> isize {
    let (here, there) = ((&raw const local) as usize, remote.as_ptr() as usize);
    let arguments = [getpid() as usize, here, 1, there, remote.len(), 0];
    // SAFETY: the caller's; the call fails for unmapped memory.
    unsafe { system_call(PROCESS_VM_READV, arguments) }
}

/// Stores the list of mappings for a reader after this process has ended.
#[cold]
pub fn keep_maps(records: &Records) {
    const O_RDONLY: c_int = 0;
    const O_CLOEXEC: c_int = 0o2_000_000;
    let file = open(c"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if file < 0 {
        return;
    }
    // SAFETY: the data goes into bytes that are atomics.
    unsafe {
        let mut length = 0;
        while length < MAPS_BYTES {
            let room = records.maps[length..].as_ptr().cast::<u8>().cast_mut();
            let got = read(file, room, MAPS_BYTES - length);
            if got <= 0 {
                break;
            }
            length += got as usize;
        }
        records.maps_length.store(length as u32, Release);
    }
    close(file);
}

/// Clears an earlier watch's data in a record.
fn begin_anew(thread: &Thread, watch: u32) {
    thread.wait.clear();
    thread.held.store(0, Relaxed);
    // Acquisitions on the fast path leave these as they are.
    for hold in &thread.near {
        hold.number.store(0, Relaxed);
    }
    thread.beyond.store(0, Relaxed);
    thread.follows.follow(watch);
}

fn note(place: &RecordedSite, caller: &Caller) {
    place.returns_to.store(caller.returns_to as u64, Relaxed);
    place.stack.store(caller.stack as u64, Relaxed);
    place.frame.store(caller.frame as u64, Relaxed);
}

impl Own {
    /// The owner of the calling thread's record.
    #[inline(always)]
    fn of(thread: &'static Thread) -> Self {
        let form = Form::now();
        let watch = match form {
            // SAFETY: a thread that has a record has records, permanently.
            Form::Watched | Form::Traced => unsafe { &*RECORDS.load(Relaxed) }.watch.number(),
            _ => ALWAYS,
        };
        Self {
            thread,
            form,
            watch,
        }
    }

    /// The process's records.
    #[inline(always)]
    pub fn records(&self) -> &'static Records {
        // SAFETY: a thread that has a record has records, permanently.
        unsafe { &*RECORDS.load(Relaxed) }
    }

    /// The thread's present segment; 0: no room for one.
    pub fn segment(&self) -> u32 {
        match self.segments().load(Relaxed) as u32 {
            0 => self.goes_on_after(0),
            known => known,
        }
    }

    /// The segment for the thread's next action: a new one if it has handed on its last.
    pub fn unshared_segment(&self) -> u32 {
        let known = self.segment();
        if known != 0 && words().shared.get() == known {
            return self.goes_on_after(0);
        }
        known
    }

    /// Marks the present segment as handed on, and returns it.
    pub fn shares_segment(&self) -> u32 {
        let segment = self.segment();
        words().shared.set(segment);
        segment
    }

    /// Begins a segment after one that another thread handed on, unless the present one follows it.
    pub fn goes_on_after_shared(&self, other: u32) {
        let is_followed = words().followed[other as usize % FOLLOWED].replace(other) == other;
        let Some(segment) = self.records().segments.get(other as usize) else {
            return;
        };
        let is_own = segment.thread.load(Relaxed) == self.thread.id.load(Relaxed);
        if other != 0 && !is_followed && !is_own {
            self.goes_on_after(other);
        }
    }

    /// The held mutex that the thread acquired last; if none, the mutex that it released last.
    pub fn latest_mutex(&self) -> Option<usize> {
        let mutex = |hold: &Hold| {
            let object = hold.object.load(Relaxed) as usize;
            let is_one = object != 0 && Hold::unpack(hold.site.load(Relaxed)).1 == How::Mutex;
            is_one.then_some(object)
        };
        if self.is_free() {
            // A released hold's entry stays.
            return mutex(&self.thread.near[0]);
        }
        self.holds().rev().find_map(mutex)
    }

    fn segments(&self) -> &'static AtomicU64 {
        &self.records().segment_of[slot() as usize - 1]
    }

    /// Makes the thread, which has just begun, start in that segment.
    pub fn begins_in(&self, segment: u32) {
        if let (1.., Some(known)) = (segment, self.records().segments.get(segment as usize)) {
            known.thread.store(self.thread.id.load(Relaxed), Relaxed);
            let segment = u64::from(segment);
            self.segments().store(segment << 32 | segment, Relaxed);
        }
    }

    /// Begins the thread's next segment, which also follows `other`; 0: none.
    pub fn goes_on_after(&self, other: u32) -> u32 {
        let before = self.segments().load(Relaxed);
        let id = self.thread.id.load(Relaxed);
        let fresh = self.records().begin_segment(id, [before as u32, other]);
        let first = match before >> 32 {
            0 => u64::from(fresh),
            first => first,
        };
        self.segments()
            .store(first << 32 | u64::from(fresh), Relaxed);
        fresh
    }

    /// The last segment of an ended thread: the latest thread of that pthread name with a first
    /// segment of at most `begun`; 0: unknown.
    pub fn last_segment(&self, pthread: usize, begun: u32) -> u32 {
        let used = (self.records().used.load(Acquire) as usize).min(THREADS);
        let threads = self.records().threads[..used].iter();
        let segments = &self.records().segment_of[..used];
        let found = threads.zip(segments).rev().find_map(|(thread, segments)| {
            let segments = segments.load(Relaxed);
            let is_it = thread.pthread.load(Relaxed) == pthread as u64
                && (1..=u64::from(begun)).contains(&(segments >> 32));
            is_it.then_some(segments as u32)
        });
        found.unwrap_or(0)
    }

    /// Resets the thread's state for another watch.
    #[cold]
    #[inline(never)]
    fn begin_anew(&self) {
        begin_anew(self.thread, self.watch);
        words().key.set(key(self.watch, words().generation.get()));
        words().drawing.forget();
        if self.form == Form::Traced {
            tracing().begin_window(self.watch);
        }
    }

    /// Records that the thread begins to wait.
    #[inline]
    pub fn begins(&self, doing: Doing, how: How, object: usize, mutex: usize, caller: &Caller) {
        if mutex != 0 {
            self.thread.told.store(0, Relaxed);
        }
        let waiting = Waiting {
            doing,
            how,
            object: object as u64,
            mutex: mutex as u64,
            place: [caller.returns_to, caller.stack, caller.frame].map(|at| at as u64),
        };
        self.thread.wait.begin(waiting.to_words());
    }

    /// Records the end of the wait.
    #[inline]
    pub fn ends(&self) {
        self.thread.wait.end();
    }

    /// The mutex of the thread's wait at a condition; 0: none.
    fn waits_with(&self) -> u64 {
        let waiting = self.thread.wait.read();
        waiting.map_or(0, |(_, words)| Waiting::of_words(words).mutex)
    }

    /// Records that the thread holds a lock.
    #[inline(always)]
    pub fn holds_now(&self, object: usize, how: How, site: usize) {
        let thread = self.thread;
        let held = thread.held.load(Relaxed) as usize;
        match self.records().hold(thread, held) {
            Some(hold) => self.lists(held, hold, object, how, site),
            None => {
                thread
                    .acquired
                    .store(thread.acquired.load(Relaxed) + 1, Relaxed);
                thread
                    .beyond
                    .store(thread.beyond.load(Relaxed) + 1, Relaxed);
            }
        }
    }

    /// Lists a hold of a thread that is listed to hold `held` locks; `hold` is the next entry.
    #[inline(always)]
    pub fn lists(&self, held: usize, hold: &Hold, object: usize, how: How, site: usize) {
        let thread = self.thread;
        let number = thread.acquired.load(Relaxed) + 1;
        thread.acquired.store(number, Relaxed);
        let site = Hold::pack(site as u64, how);
        hold.site.store(site, Relaxed);
        let number = if self.form.is_profiled() { 0 } else { number };
        hold.number.store(number, Relaxed);
        hold.object.store(object as u64, Release);
        thread.held.store(held as u32 + 1, Release);
    }

    /// Whether the thread is listed to hold no lock.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.thread.held.load(Relaxed) == 0
    }

    /// The thread's listed holds.
    pub fn holds(&self) -> impl DoubleEndedIterator<Item = &'static Hold> {
        let held = self.thread.held.load(Relaxed) as usize;
        self.records().holds(self.thread, held)
    }

    /// The hold at an index that [`find`](Self::find) has returned.
    pub fn hold(&self, place: usize) -> &'static Hold {
        let Some(hold) = self.records().hold(self.thread, place) else {
            unreachable!()
        };
        hold
    }

    /// The index of the thread's latest hold of a lock.
    #[inline(always)]
    pub fn find(&self, object: usize) -> Option<usize> {
        let held = self.thread.held.load(Relaxed) as usize;
        let is_it = |hold: &Hold| hold.object.load(Relaxed) == object as u64;
        if held > NEAR {
            let latest = self.holds().rev().position(is_it)?;
            return Some(held.min(HOLDS) - 1 - latest);
        }
        self.thread.near[..held].iter().rposition(is_it)
    }

    /// Records that the thread releases a lock; false if no hold of it is listed.
    #[inline]
    pub fn lets_go(&self, object: usize) -> bool {
        let place = self.find(object);
        if let Some(place) = place {
            self.remove(place);
        }
        place.is_some()
    }

    /// Records that a lock has been initialised: neither the thread nor, in a forked child, the
    /// parent's threads hold it.
    pub fn begins_free(&self, object: usize) {
        while self.lets_go(object) {}
        let records = self.records();
        if records.generation.load(Relaxed) == 1 {
            return;
        }
        let used = (records.used.load(Acquire) as usize).min(THREADS);
        for thread in &records.threads[..used] {
            // A record of the parent's, which no thread of this process has.
            if thread.id.load(Acquire) != 0 {
                continue;
            }
            let held = thread.held.load(Acquire) as usize;
            for hold in records.holds(thread, held) {
                if hold.object.load(Relaxed) == object as u64 {
                    hold.object.store(0, Relaxed);
                }
            }
        }
    }

    /// Removes the last of `held` holds from the list.
    #[inline(always)]
    pub fn drop_last(&self, held: usize) {
        self.thread.held.store(held as u32 - 1, Release);
    }

    /// Removes a hold from the list.
    #[inline]
    pub fn remove(&self, place: usize) {
        let thread = self.thread;
        let held = thread.held.load(Relaxed) as usize;
        // Later entries move up: a thread that locks hand over hand must not fill the list.
        for place in place..held - 1 {
            let (to, from) = (self.hold(place), self.hold(place + 1));
            let (object, site) = (from.object.load(Relaxed), from.site.load(Relaxed));
            to.object.store(object, Relaxed);
            to.site.store(site, Relaxed);
            to.number.store(from.number.load(Relaxed), Relaxed);
        }
        if self.form.is_profiled() {
            // The next acquisition on the fast path leaves that entry's number as it is.
            self.hold(held - 1).number.store(0, Relaxed);
        }
        thread.held.store(held as u32 - 1, Release);
    }

    /// Whether all holds of the thread are listed.
    pub fn is_certain(&self) -> bool {
        self.thread.beyond.load(Relaxed) == 0 && self.thread.uncertain.load(Relaxed) == 0
    }

    /// Stores the caller's stack. Returns its number plus one, or 0 if there is no room.
    #[cold]
    pub fn keep_stack(&self, caller: &Caller) -> u32 {
        let number = self.records().stacked.fetch_add(1, Relaxed) as usize;
        let Some(kept) = self.records().stacks.get(number) else {
            self.records().stacked.store(STACKS as u32, Relaxed);
            return 0;
        };
        copy(kept, caller);
        if number.is_power_of_two() || number == 0 {
            keep_maps(self.records());
        }
        number as u32 + 1
    }

    /// [`keep_stack`](Self::keep_stack), reusing the entry of that number, if any.
    #[cold]
    pub fn keep_stack_in(&self, number: u32, caller: &Caller) -> u32 {
        let Some(place) = number.checked_sub(1) else {
            return self.keep_stack(caller);
        };
        copy(&self.records().stacks[place as usize], caller);
        number
    }

    /// Lends the caller's stack to a sample. Returns its number plus one, or 0 if none is free.
    #[cold]
    pub fn lend_stack(&self, caller: &Caller) -> u16 {
        // Threads start their search at different entries.
        let first = self.thread.id.load(Relaxed) as usize * 7;
        for place in (first..first + 4).map(|place| place % LENT) {
            let stack = &self.records().lent[place];
            if stack.state.load(Relaxed) == FREE
                && stack
                    .state
                    .compare_exchange(FREE, WRITTEN, Acquire, Relaxed)
                    .is_ok()
            {
                note(&stack.place, caller);
                copy(stack, caller);
                stack.state.store(WHOLE, Release);
                return place as u16 + 1;
            }
        }
        0
    }

    /// Returns a lent stack whose sample was dropped.
    pub fn return_stack(&self, number: u16) {
        if let Some(place) = number.checked_sub(1) {
            self.records().lent[usize::from(place)]
                .state
                .store(FREE, Release);
        }
    }

    /// Records a place.
    pub fn note(&self, place: &RecordedSite, caller: &Caller) {
        note(place, caller);
    }
}

/// Copies the caller's stack, as far as it is readable.
fn copy(to: &Stack, caller: &Caller) {
    let local = [to.bytes.as_ptr() as usize, STACK_BYTES];
    // A page at a time: the last pages may be beyond the stack's end.
    let mut remote = [[0; 2]; STACK_BYTES / PAGE + 1];
    let mut at = caller.stack;
    let end = at + STACK_BYTES;
    for piece in &mut remote {
        let next = ((at | (PAGE - 1)) + 1).min(end);
        *piece = [at, next - at];
        at = next;
    }
    // SAFETY: the call writes what it can read into bytes that are atomics.
    let copied = unsafe { read_memory(local, &remote) };
    to.length.store(copied.max(0) as u32, Release);
    fence(Release);
}
