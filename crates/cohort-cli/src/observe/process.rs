//! One process's records, as they are while it goes on.

use super::site::Site;
use super::stacks::{Files, Piece, Stacks};
use crate::page::visible;
use cohort::door::Mode;
use cohort::host::assigned;
use cohort::records::{
    self, CLASSES, Count, Doing, FREE, Finding, Hold, How, MAGIC, OBJECT, Records, TAG_BITS,
    Thread, WHOLE,
};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The first bytes of a mutex, up to its kind.
const MUTEX_BYTES: usize = 20;

/// A process that is observed.
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Where its code is, and how to name it.
    pub stacks: Stacks,
    /// Whether something can be written into the records: not if they are another user's.
    pub is_ours: bool,
    records: &'static Records,
    file: File,
    /// Whether it counts processes and threads by itself, as in a container, so that their numbers
    /// in the records are not those here.
    is_apart: bool,
    /// How its file ends where it is mapped, if the file has a name.
    mapped_as: Option<String>,
    whereabouts: Whereabouts,
}

/// Which process here has made the records in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    /// The one of that number.
    Here(u32),
    /// None any more.
    Over,
    /// Perhaps one that may not be asked.
    Unseen,
}

/// Why a file has no records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// They are not whole yet, or it has something else.
    Foreign,
    /// They are of another version.
    Version,
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: mapped by `open`, in this length; every reader borrows this.
        let unmapped = unsafe {
            munmap(
                ptr::from_ref(self.records).cast_mut().cast(),
                size_of::<Records>(),
            )
        };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// A thread's wait.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The number of the wait among the thread's.
    pub turn: u32,
    /// What it does.
    pub doing: Doing,
    /// How it holds the lock afterwards.
    pub how: How,
    /// What it waits for.
    pub object: u64,
    /// At a condition, the mutex.
    pub mutex: u64,
    /// Where it began.
    pub site: Site,
}

impl Waiting {
    /// The wait of that number.
    fn of(turn: u32, waiting: records::Waiting) -> Self {
        let [returns_to, stack, frame] = waiting.place;
        Self {
            turn,
            doing: waiting.doing,
            how: waiting.how,
            object: waiting.object,
            mutex: waiting.mutex,
            site: Site {
                returns_to,
                stack,
                frame,
            },
        }
    }
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The lock.
    pub object: u64,
    /// Where it was taken.
    pub site: u64,
    /// How it is held.
    pub how: How,
    /// Which of the thread's acquisitions that was.
    pub number: u64,
}

/// A thread at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The kernel's number of the thread; 0: the process's parent had it.
    pub id: u32,
    /// The C library's name of it.
    pub pthread: u64,
    /// Its place in the records.
    pub slot: usize,
    /// What names it in a mutex that has an owner.
    pub owner: u64,
    /// Its wait, if it waits.
    pub waiting: Option<Waiting>,
    /// What it holds, but for the mutex of a condition that it waits at.
    pub holds: Vec<Held>,
    /// Whether the thread has ended.
    pub is_gone: bool,
}

impl Process {
    /// The records in a file; none if it is not complete yet, or of another version.
    pub fn open(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let told = name.split('.').next()?.parse().ok()?;
        let (file, is_ours) = both_ways(path).ok()?;
        let folder = path.parent()?.file_name()?.to_str()?;
        let mapped_as = format!("/{folder}/{name}");
        let whereabouts = Whereabouts::of(told, &file, &mapped_as);
        let id = match whereabouts {
            Whereabouts::Here(id) => id,
            Whereabouts::Over | Whereabouts::Unseen => told,
        };
        let mut process = Self::in_file(id, file, is_ours).ok()?;
        process.mapped_as = Some(mapped_as);
        process.whereabouts = whereabouts;
        Some(process)
    }

    /// Whether the process of its number here is known to be this one, and not another that has the
    /// number by now, or here.
    pub fn is_certain(&self) -> bool {
        let mapped_as = self.mapped_as.as_deref().unwrap_or(NO_NAME);
        self.whereabouts == Whereabouts::Here(self.id)
            && maps(self.id, &self.file, mapped_as) == Some(true)
    }

    /// Whether it may go on as a process that cannot be told from others here.
    pub fn is_unseen(&self) -> bool {
        self.whereabouts == Whereabouts::Unseen
    }

    /// The number that it has for itself.
    pub fn own_number(&self) -> u32 {
        match self.records.process.load(Relaxed) {
            0 => self.id,
            within => within,
        }
    }

    /// Whether it never gets that signal: the first process of a container gets those only that it
    /// handles, and those that nobody can handle.
    pub fn never_gets(&self, signal: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id));
        let status = status.unwrap_or_default();
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let is_first = field("NSpid:").is_some_and(|numbers| {
            let mut numbers = numbers.split_whitespace();
            numbers.next().is_some() && numbers.next_back() == Some("1")
        });
        let handled = field("SigCgt:").and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        is_first && handled.is_none_or(|handled| handled >> (signal - 1) & 1 == 0)
    }

    /// The records of the process of that number here, in a file.
    ///
    /// # Errors
    /// It has none.
    pub fn in_file(id: u32, file: File, is_ours: bool) -> Result<Self, Unusable> {
        let mut magic = MAGIC;
        file.read_exact_at(&mut magic, offset_of!(Records, magic) as u64)
            .map_err(|_| Unusable::Foreign)?;
        let length = file.metadata().map_err(|_| Unusable::Foreign)?.len();
        if magic[..7] != MAGIC[..7] {
            return Err(Unusable::Foreign);
        }
        if magic != MAGIC || length != size_of::<Records>() as u64 {
            return Err(Unusable::Version);
        }
        // SAFETY: as long as the file, which nobody makes shorter; all its bytes are atoms.
        let records: &Records = unsafe {
            let at = mmap(
                ptr::null_mut(),
                size_of::<Records>(),
                if is_ours {
                    ProtFlags::READ | ProtFlags::WRITE
                } else {
                    ProtFlags::READ
                },
                MapFlags::SHARED,
                &file,
                0,
            )
            .map_err(|_| Unusable::Foreign)?;
            &*at.cast()
        };
        let within = records.process.load(Relaxed);
        Ok(Self {
            id,
            stacks: Stacks::new(id),
            is_ours,
            records,
            file,
            is_apart: within != 0 && within != id,
            mapped_as: None,
            whereabouts: Whereabouts::Here(id),
        })
    }

    /// The records themselves.
    pub fn records(&self) -> &Records {
        self.records
    }

    /// Its threads that have not ended, by their numbers in its records; none if it is over.
    pub fn living(&self) -> HashSet<u32> {
        self.numbers().into_keys().collect()
    }

    /// The numbers here of its threads that have not ended, by those in its records.
    pub fn numbers(&self) -> HashMap<u32, u32> {
        if !matches!(self.whereabouts, Whereabouts::Here(_)) {
            return HashMap::new();
        }
        let mut threads: HashMap<u32, u32> = std::fs::read_dir(format!("/proc/{}/task", self.id))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|here| Some((self.within(here)?, here)))
            .collect();
        // The first thread keeps its place until all others have ended.
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.id));
        let has_ended = state.is_ok_and(|line| {
            // The state follows the name, which may hold anything, in brackets.
            line.rsplit_once(") ")
                .is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
        });
        if has_ended {
            threads.retain(|_, here| *here != self.id);
        }
        threads
    }

    /// Goes by the code that is mapped now, as one of these threads tells.
    pub fn refresh(&mut self, numbers: &HashMap<u32, u32>) {
        let kept = self.kept_maps();
        let closed = self.closed();
        self.stacks
            .refresh(numbers.values().copied(), &kept, closed);
    }

    /// The same, but that no file with code is read yet.
    pub fn see(&mut self, numbers: &HashMap<u32, u32>) {
        let kept = self.kept_maps();
        let closed = self.closed();
        self.stacks.see(numbers.values().copied(), &kept, closed);
    }

    /// The number that a thread has for itself.
    fn within(&self, here: u32) -> Option<u32> {
        if !self.is_apart {
            return Some(here);
        }
        own_number(&format!("/proc/{}/task/{here}/status", self.id))
    }

    /// A thread's name, as the kernel has it; by the number that the thread has for itself.
    pub fn name_of(&self, thread: u32) -> Option<String> {
        let path = format!("/proc/{}/task/{}/comm", self.id, self.here(thread)?);
        Some(visible(std::fs::read_to_string(path).ok()?.trim_end()))
    }

    /// All threads that have a record, as they are now.
    pub fn threads(&self, living: &HashSet<u32>) -> Vec<Moment> {
        let used = (self.records.used.load(Acquire) as usize).min(self.records.threads.len());
        let mut threads: Vec<Moment> = self.records.threads[..used]
            .iter()
            .enumerate()
            .filter_map(|(slot, thread)| self.moment(slot, thread, living))
            .collect();
        let (left, own): (Vec<_>, Vec<_>) = threads.iter_mut().partition(|thread| thread.id == 0);
        for left in left {
            // What a thread of this process has by now was made anew after the fork.
            let is_had = |held: &Held| {
                let mut had = own.iter().flat_map(|thread| &thread.holds);
                had.any(|had| had.object == held.object)
            };
            left.holds.retain(|held| !is_had(held));
        }
        threads
    }

    /// Adds to what threads hold those mutexes that others wait for and that have their holder in
    /// their own bytes, as at the level `stuck`; they are read by the living threads' numbers.
    ///
    /// # Errors
    /// That memory may not be read.
    pub fn add_holders(
        &self,
        threads: &mut Vec<Moment>,
        numbers: &HashMap<u32, u32>,
    ) -> std::io::Result<()> {
        let awaited = threads.iter().filter_map(|thread| thread.waiting);
        let awaited =
            awaited.filter(|waiting| waiting.doing == Doing::Lock && waiting.how == How::Mutex);
        let mut awaited: BTreeSet<u64> = awaited.map(|waiting| waiting.object).collect();
        for held in threads.iter().flat_map(|thread| &thread.holds) {
            awaited.remove(&held.object);
        }
        for object in awaited {
            let Some((holder, site)) = self.holder(object, numbers, threads)? else {
                continue;
            };
            threads[holder].holds.push(Held {
                object,
                site,
                how: How::Mutex,
                number: 0,
            });
        }
        Ok(())
    }

    /// Which of the threads holds a mutex, by its own bytes, and where that took it, if that is
    /// known: a thread that the process's parent had is added.
    ///
    /// # Errors
    /// The bytes may not be read.
    fn holder(
        &self,
        object: u64,
        numbers: &HashMap<u32, u32>,
        threads: &mut Vec<Moment>,
    ) -> std::io::Result<Option<(usize, u64)>> {
        // A thread that is ending has no memory any more.
        for thread in numbers.values() {
            match self.read(*thread, object, MUTEX_BYTES) {
                Ok(bytes) => return Ok(self.noted_in(&bytes, threads)),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                // The program has unmapped it.
                Err(error) if error.raw_os_error() == Some(libc::EFAULT) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The same by those bytes.
    fn noted_in(&self, bytes: &[u8], threads: &mut Vec<Moment>) -> Option<(usize, u64)> {
        const OWNER: usize = 8;
        const KIND: usize = 16;
        // The C library's marks for or against lock elision, and which lock serves the mutex.
        const NO_KIND: u32 = 0x300 | assigned::BITS;
        let owner = u64::from_ne_bytes(bytes.get(OWNER..KIND)?.try_into().ok()?);
        let kind = u32::from_ne_bytes(bytes.get(KIND..)?.try_into().ok()?) & !NO_KIND;
        match kind {
            // A plain one: a place in the records, and the site.
            0 => {
                let slot = usize::try_from(owner >> TAG_BITS).ok()?.checked_sub(1)?;
                let site = owner & ((1 << TAG_BITS) - 1);
                if let Some(known) = threads.iter().position(|thread| thread.slot == slot) {
                    return Some((known, site));
                }
                if self.records.threads.get(slot)?.id.load(Acquire) != 0 {
                    return None;
                }
                // What names the thread in mutexes of other kinds, these bytes do not say.
                Some((self.add_left(slot, 0, threads)?, site))
            }
            // Recursive or error-checking.
            1 | 2 if owner != 0 => {
                let holder = match threads.iter().position(|thread| thread.owner == owner) {
                    Some(known) => known,
                    // A place that no thread has.
                    None => self.add_left(usize::MAX, owner, threads)?,
                };
                Some((holder, 0))
            }
            _ => None,
        }
    }

    /// Adds a thread that holds a lock and that this process does not have, as its parent had it when it
    /// forked; none if the process may have it nevertheless.
    fn add_left(&self, slot: usize, owner: u64, threads: &mut Vec<Moment>) -> Option<usize> {
        let records = self.records;
        // The first thread of a process that was forked past the library is known once it has locked.
        let first = self.own_number();
        let is_known = threads.iter().any(|thread| thread.id == first);
        let is_forked = records.generation.load(Relaxed) > 1;
        if !is_known || !is_forked || records.lost_threads.load(Relaxed) != 0 {
            return None;
        }
        threads.push(Moment {
            id: 0,
            pthread: 0,
            slot,
            owner,
            waiting: None,
            holds: Vec::new(),
            is_gone: true,
        });
        Some(threads.len() - 1)
    }

    fn moment(&self, slot: usize, thread: &Thread, living: &HashSet<u32>) -> Option<Moment> {
        let id = thread.id.load(Acquire);
        let is_there = match id {
            // A forked child lists there what a thread held that it does not have.
            0 => thread.held.load(Acquire) != 0,
            _ => thread.follows.follows(self.records.watch.number()),
        };
        if !is_there {
            return None;
        }
        // Asked before its holds are read, since those of a thread that goes on change; a thread
        // that is not among the living may have begun since they were listed.
        let is_gone = !living.contains(&id)
            && (self.is_apart
                || id == self.id
                || !Path::new(&format!("/proc/{}/task/{id}", self.id)).exists());
        let before = thread.waiting();
        let held = thread.held.load(Acquire) as usize;
        let holds = self.records.holds(thread, held);
        let holds = holds
            .map(|hold| {
                let (site, how) = Hold::unpack(hold.site.load(Relaxed));
                Held {
                    object: hold.object.load(Acquire),
                    site,
                    how,
                    number: hold.number.load(Relaxed),
                }
            })
            .filter(|held| held.object != 0);
        let mut holds: Vec<Held> = holds.collect();
        // A thread that went on meanwhile waits for nothing.
        let waiting = before.filter(|_| thread.waiting() == before);
        let mut waiting = waiting.map(|(turn, waiting)| Waiting::of(turn, waiting));
        if let Some(waiting) = &mut waiting
            && waiting.mutex != 0
        {
            holds.retain(|held| held.object != waiting.mutex);
            if waiting.object == waiting.mutex {
                // It was signalled, and is at no condition.
                waiting.mutex = 0;
            }
        }
        Some(Moment {
            id,
            pthread: thread.pthread.load(Relaxed),
            slot,
            owner: thread.owner.load(Relaxed),
            // A thread that was killed in a wait left it in its record.
            waiting: waiting.filter(|_| !is_gone),
            holds,
            is_gone,
        })
    }

    /// How many threads have taken a lock.
    pub fn observed_threads(&self) -> usize {
        let used = (self.records.used.load(Acquire) as usize).min(self.records.threads.len());
        let threads = &self.records.threads[..used];
        let has_begun = |thread: &&Thread| thread.id.load(Relaxed) != 0;
        threads.iter().filter(has_begun).count()
    }

    /// The complete findings from that number on.
    pub fn findings(&self, from: usize) -> &'static [Finding] {
        let begun = (self.records.found.load(Acquire) as usize).min(self.records.findings.len());
        let findings = &self.records.findings[from.min(begun)..begun];
        let complete = findings
            .iter()
            .take_while(|finding| finding.kind.load(Acquire) != 0)
            .count();
        &findings[..complete]
    }

    /// A kept stack: its bytes from the stack pointer upwards.
    pub fn kept(&self, number: u32) -> Vec<u8> {
        let Some(stack) = number
            .checked_sub(1)
            .and_then(|place| self.records.stacks.get(place as usize))
        else {
            return Vec::new();
        };
        let length = (stack.length.load(Acquire) as usize).min(stack.bytes.len());
        stack.bytes[..length]
            .iter()
            .map(|byte| byte.load(Relaxed))
            .collect()
    }

    /// A stack that is lent to a sample: where it was copied, and its bytes.
    pub fn lent(&self, number: u16) -> Option<(Site, Vec<u8>)> {
        let stack = self
            .records
            .lent
            .get(usize::from(number).checked_sub(1)?)
            .filter(|stack| stack.state.load(Acquire) == WHOLE)?;
        let length = (stack.length.load(Relaxed) as usize).min(stack.bytes.len());
        let bytes = stack.bytes[..length].iter();
        let bytes = bytes.map(|byte| byte.load(Relaxed)).collect();
        Some((Site::of(&stack.place), bytes))
    }

    /// Gives a lent stack back, which has been read.
    pub fn give_back(&self, number: u16) {
        if let Some(place) = usize::from(number).checked_sub(1)
            && self.is_ours
        {
            self.records.lent[place].state.store(FREE, Release);
        }
    }

    /// Where the call that initialised a lock returns, if it was seen.
    pub fn initialised(&self, lock: u64) -> Option<u64> {
        let class = usize::try_from(lock >> 48).ok()?;
        (1..=CLASSES)
            .contains(&class)
            .then(|| self.records.classes[class - 1].load(Relaxed))
            .filter(|_| lock & OBJECT != 0)
    }

    /// How often each site took each lock, as far as threads have put it together.
    pub fn counts(&self) -> Vec<&Count> {
        let mut found = Vec::new();
        let begin = offset_of!(Records, counts) as u64;
        let end = begin + size_of_val(&self.records.counts) as u64;
        let each = size_of::<Count>() as u64;
        let mut at = begin;
        // To look at pages that nobody has written would make them.
        while at < end {
            let (from, to) = match seek(&self.file, SeekFrom::Data(at)) {
                Ok(from) => (from, seek(&self.file, SeekFrom::Hole(from)).unwrap_or(end)),
                Err(Errno::NXIO) => break,
                Err(_) => (at, end),
            };
            let first = (from.max(begin) - begin) / each;
            let last = (to.min(end).max(begin) - begin).div_ceil(each);
            if first >= last {
                break;
            }
            found.extend(&self.records.counts[first as usize..last as usize]);
            at = to;
        }
        found
    }

    /// In which mode a lock is that adapts, and how often it has changed that; none if it has not
    /// told.
    pub fn modes(&self) -> HashMap<u64, (Mode, u32)> {
        let told = self.records.modes.iter().filter_map(|told| {
            let mode = (told.mode.load(Relaxed) as usize).checked_sub(1)?;
            let mode = Mode::ALL.get(mode)?;
            Some((told.lock.load(Relaxed), (*mode, told.changes.load(Relaxed))))
        });
        told.collect()
    }

    /// The list of mappings that the process has kept.
    pub fn kept_maps(&self) -> String {
        let length = self.records.maps_length.load(Acquire) as usize;
        let bytes: Vec<u8> = self.records.maps[..length.min(self.records.maps.len())]
            .iter()
            .map(|byte| byte.load(Relaxed))
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The code of modules that the process has closed.
    fn closed(&self) -> Files {
        let closed = self.records.closed().map(|module| {
            let [from, to, offset] =
                [&module.from, &module.to, &module.offset].map(|number| number.load(Relaxed));
            let path = OsString::from_vec(module.path().collect());
            let range = from..to;
            (PathBuf::from(path), vec![Piece { range, offset }])
        });
        closed.collect()
    }

    /// Bytes of memory from `at` upwards, as many as can be had, by the number that a living thread
    /// of it has for itself.
    pub fn memory(&self, thread: u32, at: u64, length: usize) -> Vec<u8> {
        let here = self.here(thread);
        let read = here.and_then(|here| self.read(here, at, length).ok());
        read.unwrap_or_default()
    }

    /// Whether the kernel has put a thread to sleep. A woken thread is runnable.
    pub fn is_asleep(&self, thread: u32) -> bool {
        let stat = self
            .here(thread)
            .map(|here| format!("/proc/{}/task/{here}/stat", self.id));
        let line = stat.and_then(|stat| std::fs::read_to_string(stat).ok());
        // The state follows the name, which may contain anything, in brackets.
        line.is_some_and(|line| {
            line.rsplit_once(") ")
                .is_some_and(|(_, rest)| rest.starts_with('S'))
        })
    }

    /// The number here of a thread that has that number for itself.
    fn here(&self, thread: u32) -> Option<u32> {
        if self.is_apart {
            self.numbers().get(&thread).copied()
        } else {
            Some(thread)
        }
    }

    /// The same by its number here.
    ///
    /// # Errors
    /// None can be had, or may.
    fn read(&self, thread: u32, at: u64, length: usize) -> std::io::Result<Vec<u8>> {
        const PAGE: u64 = 4096;
        let mut bytes = vec![0_u8; length];
        let local = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: length,
        };
        // A page at a time: the last ones may be beyond the stack's end.
        let mut remote = Vec::new();
        let (mut from, end) = (at, at.saturating_add(length as u64));
        while from < end {
            let next = ((from | (PAGE - 1)) + 1).min(end);
            remote.push(libc::iovec {
                iov_base: ptr::without_provenance_mut(from as usize),
                iov_len: (next - from) as usize,
            });
            from = next;
        }
        // SAFETY: the call writes at most `length` bytes to `bytes`, and only reads elsewhere.
        let read = unsafe {
            libc::process_vm_readv(
                libc::pid_t::try_from(thread).unwrap_or(0),
                &raw const local,
                1,
                remote.as_ptr(),
                remote.len() as libc::c_ulong,
                0,
            )
        };
        bytes.truncate(usize::try_from(read).map_err(|_| std::io::Error::last_os_error())?);
        Ok(bytes)
    }
}

/// What no line of a list of mappings ends with.
const NO_NAME: &str = "\n";

impl Whereabouts {
    /// Which process here has the number `told` for itself and that file mapped.
    ///
    /// A process of a PID namespace of its own has another number here, and the process that has
    /// the number here is another one.
    fn of(told: u32, file: &File, mapped_as: &str) -> Self {
        let its = maps(told, file, mapped_as);
        if its == Some(true) {
            return Self::Here(told);
        }
        let named = |id: &u32| *id != told && own_number(&status_of(*id)) == Some(told);
        let others: Vec<u32> = all_processes().filter(named).collect();
        let asked = others.iter().map(|id| (*id, maps(*id, file, mapped_as)));
        let asked: Vec<(u32, Option<bool>)> = asked.collect();
        let mapping = asked.iter().find(|(_, maps)| *maps == Some(true));
        // One that may not be asked is the program's if this command has started it.
        let hidden = asked.iter().filter(|(_, maps)| maps.is_none());
        let started = hidden.clone().find(|(id, _)| is_descendant(*id));
        if let Some((id, _)) = mapping.or(started) {
            return Self::Here(*id);
        }
        // One that has just become another program maps the file again once it locks.
        if is_descendant(told) {
            return Self::Here(told);
        }
        // A process that has ended meanwhile cannot be read either.
        let is_readable_or_over = its.is_some() || own_number(&status_of(told)).is_none();
        if is_readable_or_over && hidden.count() == 0 {
            Self::Over
        } else {
            Self::Unseen
        }
    }
}

/// Whether a process was started by this one, or by one that was.
fn is_descendant(id: u32) -> bool {
    let parent = |id: &u32| {
        let text = std::fs::read_to_string(status_of(*id)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse().ok().filter(|parent| *parent != 0)
    };
    std::iter::successors(Some(id), parent)
        .skip(1)
        .any(|id| id == std::process::id())
}

fn status_of(id: u32) -> String {
    format!("/proc/{id}/status")
}

/// Whether a process has that file mapped, by a name that ends so there; none if it cannot be asked.
fn maps(id: u32, file: &File, mapped_as: &str) -> Option<bool> {
    let metadata = file.metadata().ok()?;
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    // Some file systems tell another device here than there.
    let wanted = format!(" {major:02x}:{minor:02x} {} ", metadata.ino());
    let is_wanted = |line: &str| line.contains(&wanted) || line.ends_with(mapped_as);
    let threads = match std::fs::read_dir(format!("/proc/{id}/task")) {
        Ok(threads) => threads,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
        // The process has ended: the kernel has several errors for that.
        Err(_) => return Some(false),
    };
    let mut answer = Some(false);
    // A thread that has ended has no mappings any more, be it the first.
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("maps")) {
            Ok(maps) if maps.lines().any(is_wanted) => return Some(true),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => answer = None,
            Ok(_) | Err(_) => {}
        }
    }
    answer
}

/// The numbers of all processes here.
fn all_processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A file open for reading, and for writing too if that may be.
///
/// # Errors
/// It cannot be read.
pub fn both_ways(path: &Path) -> std::io::Result<(File, bool)> {
    match File::options().read(true).write(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(_) => Ok((File::open(path)?, false)),
    }
}

/// The number that a process or thread has for itself, by its file `status`.
pub fn own_number(status: &str) -> Option<u32> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}
