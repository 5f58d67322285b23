//! A process that does not run under Cohort, as the kernel shows it: the futex words on which its
//! threads sleep, and what the C library records there.
//!
//! Nothing is put into the process and nothing of it is stopped.  Each look reads one line of `/proc` for
//! each thread; looks are spaced so that they take half a per cent of one CPU.

pub mod glibc;
pub mod looker;
pub mod syscall;
pub mod tree;

use crate::observe::process::own_number;
use crate::observe::watching::{began, unreadable};
use crate::page::visible;
use crate::problem::Problem;
use object::FileKind;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use syscall::Call;

/// A process, as it is seen from outside.
pub struct Process {
    /// Its number here.
    pub id: u32,
    /// The program's name.
    pub program: String,
    /// The list of its mappings as it was opened.
    pub maps: String,
    began: Option<u64>,
    memory: File,
    threads: BTreeMap<u32, Thread>,
    /// Thread IDs in this PID namespace, by thread IDs in the process's own; empty if the namespaces are
    /// the same.
    numbers: HashMap<u32, u32>,
    is_apart: bool,
}

/// A thread and its file with the system call that it is in.
struct Thread {
    call: Option<File>,
}

/// How many files of threads stay open, which spares an opening at each look.
const OPEN: usize = 256;

impl Process {
    /// The process of that number.
    ///
    /// # Errors
    /// There is none, it may not be looked into, or it is a 32-bit program.
    pub fn open(id: u32) -> Result<Self, Problem> {
        let folder = PathBuf::from(format!("/proc/{id}"));
        let Ok(metadata) = fs::metadata(&folder) else {
            return Err(Problem::usage(format!("no process {id}")));
        };
        let refused = |error: std::io::Error| unreadable(id, &metadata, &error);
        let maps = fs::read_to_string(folder.join("maps")).map_err(refused)?;
        if maps.is_empty() {
            return Err(Problem::refused(format!(
                "process {id} has ended, or is a kernel thread"
            )));
        }
        let memory = File::open(folder.join("mem")).map_err(refused)?;
        fs::read_to_string(folder.join("syscall")).map_err(refused)?;
        if is_32_bit(&folder.join("exe")) {
            return Err(Problem::refused(format!(
                "process {id} is a 32-bit program, which is not supported"
            )));
        }
        let own = own_number(&format!("/proc/{id}/status"));
        let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
        let mut process = Self {
            id,
            program: visible(name.trim_end()),
            maps,
            began: began(id),
            memory,
            threads: BTreeMap::new(),
            numbers: HashMap::new(),
            is_apart: own.is_some_and(|own| own != id),
        };
        process.refresh();
        Ok(process)
    }

    /// Updates the list of threads.
    pub fn refresh(&mut self) {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id));
        let tasks = tasks.into_iter().flatten().flatten();
        let mut living: Vec<u32> = tasks
            .filter_map(|task| task.file_name().to_str()?.parse().ok())
            .collect();
        living.sort_unstable();
        self.threads
            .retain(|thread, _| living.binary_search(thread).is_ok());
        for thread in living {
            let is_open = self.threads.len() < OPEN;
            self.threads.entry(thread).or_insert_with(|| Thread {
                call: is_open
                    .then(|| File::open(call_of(self.id, thread)).ok())
                    .flatten(),
            });
        }
        if self.is_apart {
            let own = |thread: u32| own_number(&format!("/proc/{}/task/{thread}/status", self.id));
            let threads = self.threads.keys();
            self.numbers = threads
                .filter_map(|thread| Some((own(*thread)?, *thread)))
                .collect();
        }
    }

    /// The numbers of its threads here.
    pub fn threads(&self) -> impl Iterator<Item = u32> {
        self.threads.keys().copied()
    }

    /// How many threads it has.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The number here of the thread that has this number for itself, if it lives.
    pub fn here(&self, own: u32) -> Option<u32> {
        let here = if self.is_apart {
            *self.numbers.get(&own)?
        } else {
            own
        };
        self.threads.contains_key(&here).then_some(here)
    }

    /// A thread's name.
    pub fn name(&self, thread: u32) -> Option<String> {
        let name = fs::read_to_string(format!("/proc/{}/task/{thread}/comm", self.id)).ok()?;
        Some(visible(name.trim_end()))
    }

    /// The system call that each sleeping thread is in.
    pub fn calls(&self) -> Vec<(u32, Call)> {
        let threads = self.threads.keys();
        threads
            .filter_map(|thread| Some((*thread, self.call(*thread)?)))
            .collect()
    }

    /// The system call that a thread is in, if it sleeps.
    pub fn call(&self, thread: u32) -> Option<Call> {
        let mut line = [0; 256];
        let length = match &self.threads.get(&thread)?.call {
            Some(file) => file.read_at(&mut line, 0).ok()?,
            None => File::open(call_of(self.id, thread))
                .and_then(|mut file| file.read(&mut line))
                .ok()?,
        };
        Call::parse(std::str::from_utf8(&line[..length]).ok()?)
    }

    /// Fills bytes from its memory.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        self.memory.read_exact_at(into, at).ok()
    }

    /// The bytes that are there, up to the number asked for.
    pub fn bytes(&self, at: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let length = self.memory.read_at(&mut bytes, at).unwrap_or(0);
        bytes.truncate(length);
        bytes
    }

    /// CPU seconds that it has used.
    pub fn cpu(&self) -> f64 {
        let line = fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap_or_default();
        let Some((_, rest)) = line.rsplit_once(") ") else {
            return 0.0;
        };
        let fields = rest.split_whitespace().skip(11).take(2);
        let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    /// Whether it has ended, or another process has its number.
    pub fn is_over(&self) -> bool {
        began(self.id) != self.began || self.threads.is_empty()
    }
}

/// Whether a file is a 32-bit program. The words of its locks have other places than those read here.
pub fn is_32_bit(program: &Path) -> bool {
    let mut start = [0; 64];
    let class = File::open(program)
        .and_then(|mut file| file.read_exact(&mut start))
        .ok()
        .and_then(|()| FileKind::parse(&start[..]).ok());
    class == Some(FileKind::Elf32)
}

fn call_of(process: u32, thread: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/task/{thread}/syscall"))
}
