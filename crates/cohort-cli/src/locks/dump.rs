//! A process in a core dump, written by the kernel or by GDB's `gcore`: the registers of its
//! threads, the mapped files, and the modified memory.

use super::process::{Core, Process, Source};
use crate::observe::process::Process as Observed;
use crate::observe::stacks::length;
use crate::page::visible;
use crate::problem::Problem;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Offsets of the ID and the registers in the kernel's description of a thread (`elf_prstatus`).
const THREAD: usize = 32;
const REGISTERS: usize = 112;
/// Indices of the system call's number and of its arguments (rdi, rsi, rdx, r10, r8, r9) in the
/// registers (`user_regs_struct`).
const CALL: usize = 15;
const ARGUMENTS: [usize; 6] = [14, 13, 12, 7, 9, 8];
/// The number of the futex call on x86-64, whatever this machine is.
const FUTEX: u64 = 202;
/// Offsets of the ID and the name in the kernel's description of a process (`elf_prpsinfo`).
const PROCESS: usize = 24;
const NAME: Range<usize> = 40..56;
/// Entry of the auxiliary vector with the address of the program's name, where the environment
/// ends.
const STARTED_AS: u64 = 31;
/// More than an environment's size.
const ENVIRONMENT: u64 = 8 << 20;
/// The part of a mapped file that the kernel always dumps.
const PAGE: usize = 4096;

/// More parts than a process has mappings.
const MOST_PARTS: usize = 1 << 22;
/// More than the notes of 10,000 threads with all their registers.
const LONGEST_NOTES: u64 = 256 << 20;
/// Maximum number of returns of the list of mapped files to one file, as with libraries loaded
/// several times.
const MOST_RETURNS: usize = 64;

const CUT_OFF: &str = "is truncated: the disk was full, or `ulimit -c` is too low";

type Header = FileHeader64<Endianness>;
type Segment = elf::ProgramHeader64<Endianness>;

/// Part of the memory.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    size: u64,
    /// The dumped size, and its offset.
    kept: u64,
    offset: u64,
    flags: u32,
}

/// Mapped file.
struct Mapped<'data> {
    range: Range<u64>,
    offset: u64,
    path: &'data Path,
}

/// Content of a core dump.
struct Dump {
    file: File,
    /// In ascending order of addresses.
    pieces: Vec<Piece>,
    /// Each thread's system call with its arguments.
    threads: BTreeMap<u32, (u64, [u64; 6])>,
    maps: String,
    environment: Option<Vec<u8>>,
}

/// The process in that core dump.
///
/// # Errors
/// The file cannot be read, is not a complete core dump, or the process did not run under Cohort.
pub fn open(path: &Path) -> Result<Process, Problem> {
    let shown = path.display();
    let unread = |error: Error| match error.kind() {
        ErrorKind::NotFound => Problem::usage(format!(
            "no core dump {shown}; a process is given by its number, from `pidof`"
        )),
        _ => Problem::refused(format!("{shown} cannot be read: {error}")),
    };
    let foreign = || {
        Problem::usage(format!(
            "{shown} is not a core dump; `coredumpctl dump -o FILE` unpacks systemd's"
        ))
    };
    let refused = |why: &str| Problem::refused(format!("the core dump {shown} {why}"));
    let metadata = fs::metadata(path).map_err(unread)?;
    if !metadata.is_file() {
        return Err(foreign());
    }
    let file = File::open(path).map_err(unread)?;
    let data = ReadCache::new(file.try_clone().map_err(unread)?);
    let kind = match FileKind::parse(&data) {
        Ok(FileKind::Elf64) => kind::<Header>(&data),
        Ok(FileKind::Elf32) => kind::<FileHeader32<Endianness>>(&data),
        _ => return Err(foreign()),
    };
    let Ok((kind, machine, is_64)) = kind else {
        return Err(refused(CUT_OFF));
    };
    if kind != elf::ET_CORE {
        return Err(foreign());
    }
    if machine != elf::EM_X86_64 || !is_64 {
        return Err(refused(&format!(
            "is of another processor (ELF machine {machine}); 64-bit x86-64 is supported"
        )));
    }
    let is_damaged = |error: object::Error| refused(&format!("is damaged or truncated ({error})"));
    let header = Header::parse(&data).map_err(is_damaged)?;
    let endian = header.endian().map_err(is_damaged)?;
    if header
        .phnum(endian, &data)
        .is_ok_and(|count| count > MOST_PARTS)
    {
        return Err(refused("is damaged: too many segments"));
    }
    let segments = header.program_headers(endian, &data).map_err(is_damaged)?;
    let ends = segments.iter().map(|segment| {
        let offset = segment.p_offset(endian);
        offset.saturating_add(segment.p_filesz(endian))
    });
    if ends.max().is_some_and(|end| end > metadata.len()) {
        return Err(refused(CUT_OFF));
    }
    let noted = segments
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_NOTE)
        .fold(0_u64, |sum, segment| {
            sum.saturating_add(segment.p_filesz(endian))
        });
    if noted > LONGEST_NOTES {
        return Err(refused("is damaged: its notes are too long"));
    }
    let notes = Notes::of(segments, endian, &data).map_err(is_damaged)?;
    let pieces = pieces(segments, endian);
    let mapped = notes.mapped.and_then(files).unwrap_or_default();
    if mapped.is_empty() || notes.threads.is_empty() {
        return Err(refused("has no mapped files or no threads"));
    }
    let mut begun = BTreeSet::new();
    let again = mapped
        .windows(2)
        .filter(|two| two[0].path != two[1].path && !begun.insert(two[1].path))
        .count();
    if again > MOST_RETURNS {
        return Err(refused("is damaged: repeated file names"));
    }
    let mut dump = Dump {
        file,
        pieces,
        threads: notes.threads,
        maps: String::new(),
        environment: None,
    };
    dump.environment = notes
        .started_as
        .and_then(|end| dump.environment_before(end));
    let unnamed = dump.changed(&mapped);
    dump.maps = dump.listed(&mapped, &unnamed);
    let first = dump.threads.keys().next().copied();
    let (id, program) = notes.process.unwrap_or((first.unwrap_or(0), String::new()));
    let mut process = Process::of(id, &program, Box::new(dump)).ok_or_else(|| {
        refused("is of a process without Cohort; start it with `cohort run -- PROGRAM`")
    })?;
    process.core = Some(Core {
        path: path.to_path_buf(),
        unnamed: unnamed
            .iter()
            .map(|path| visible(&path.to_string_lossy()))
            .collect(),
    });
    Ok(process)
}

/// An ELF file's type, machine, and whether it is 64-bit.
fn kind<Any: FileHeader<Endian = Endianness>>(
    data: &ReadCache<File>,
) -> object::Result<(u16, u16, bool)> {
    let header = Any::parse(data)?;
    let endian = header.endian()?;
    let is_64 = header.is_class_64();
    Ok((header.e_type(endian), header.e_machine(endian), is_64))
}

/// Notes of a core dump.
#[derive(Default)]
struct Notes<'data> {
    threads: BTreeMap<u32, (u64, [u64; 6])>,
    /// The process's ID and name.
    process: Option<(u32, String)>,
    mapped: Option<&'data [u8]>,
    started_as: Option<u64>,
}

impl<'data> Notes<'data> {
    /// All notes.
    ///
    /// # Errors
    /// They are not where they should be.
    fn of(
        segments: &[Segment],
        endian: Endianness,
        data: &'data ReadCache<File>,
    ) -> object::Result<Self> {
        let mut notes = Self::default();
        for segment in segments {
            let Some(mut each) = segment.notes(endian, data)? else {
                continue;
            };
            while let Some(note) = each.next()? {
                if note.name() == b"CORE" {
                    notes.take(note.n_type(endian), note.desc());
                }
            }
        }
        Ok(notes)
    }

    /// Adds a note; ignores other kinds and short ones.
    fn take(&mut self, kind: u32, note: &'data [u8]) {
        match kind {
            elf::NT_PRSTATUS => self.threads.extend(thread(note)),
            elf::NT_PRPSINFO => self.process = process(note),
            elf::NT_FILE => self.mapped = Some(note),
            elf::NT_AUXV => {
                let mut pairs = note.chunks_exact(16);
                let pair = pairs.find(|pair| long(pair, 0) == Some(STARTED_AS));
                self.started_as = pair.and_then(|pair| long(pair, 8));
            }
            _ => {}
        }
    }
}

/// The eight bytes at an offset.
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// The four bytes at an offset.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

/// A thread's ID, its system call and the arguments.
fn thread(note: &[u8]) -> Option<(u32, (u64, [u64; 6]))> {
    let register = |number: usize| long(note, REGISTERS + 8 * number);
    let mut arguments = [0; 6];
    for (argument, number) in arguments.iter_mut().zip(ARGUMENTS) {
        *argument = register(number)?;
    }
    Some((word(note, THREAD)?, (register(CALL)?, arguments)))
}

/// The process's ID, and the beginning of its program's name.
fn process(note: &[u8]) -> Option<(u32, String)> {
    let name = note.get(NAME)?.split(|byte| *byte == 0).next()?;
    let name = String::from_utf8_lossy(name).into_owned();
    Some((word(note, PROCESS)?, name))
}

/// The mapped files in ascending order of addresses. The note has their number, the unit of
/// offsets, three numbers for each, and all names.
fn files(note: &[u8]) -> Option<Vec<Mapped<'_>>> {
    let (count, unit) = (usize::try_from(long(note, 0)?).ok()?, long(note, 8)?);
    let names = note.get(count.checked_mul(24)?.checked_add(16)?..)?;
    let files = names.split(|byte| *byte == 0).take(count).enumerate();
    let files = files.map(|(file, name)| {
        let number = |which: usize| long(note, 16 + 24 * file + 8 * which);
        Some(Mapped {
            range: number(0)?..number(1)?,
            offset: number(2)?.checked_mul(unit)?,
            path: Path::new(OsStr::from_bytes(name)),
        })
    });
    files.collect()
}

fn pieces(segments: &[Segment], endian: Endianness) -> Vec<Piece> {
    let loaded = segments
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let mut pieces: Vec<Piece> = loaded
        .map(|segment| Piece {
            start: segment.p_vaddr(endian),
            size: segment.p_memsz(endian),
            kept: segment.p_filesz(endian),
            offset: segment.p_offset(endian),
            flags: segment.p_flags(endian),
        })
        .collect();
    pieces.sort_by_key(|piece| piece.start);
    pieces
}

/// A file's build ID, in its first page.
fn build(page: &[u8]) -> Option<Vec<u8>> {
    let header = Header::parse(page).ok()?;
    let endian = header.endian().ok()?;
    for segment in header.program_headers(endian, page).ok()? {
        let Ok(Some(mut notes)) = segment.notes(endian, page) else {
            continue;
        };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

impl Dump {
    /// The piece that contains an address.
    fn piece(&self, at: u64) -> Option<&Piece> {
        let behind = self.pieces.partition_point(|piece| piece.start <= at);
        let piece = &self.pieces[behind.checked_sub(1)?];
        (at - piece.start < piece.size).then_some(piece)
    }

    /// Whether code was mapped there; true if unknown.
    fn is_code(&self, at: u64) -> bool {
        self.piece(at)
            .is_none_or(|piece| piece.flags & elf::PF_X != 0)
    }

    /// The variables that end at an address: strings with a `=`, down to the command line's
    /// strings.
    fn environment_before(&self, end: u64) -> Option<Vec<u8>> {
        let piece = self.piece(end)?;
        let length = (end - piece.start).min(ENVIRONMENT);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.read(end - length, &mut bytes)?;
        let variables = bytes.strip_suffix(b"\0")?.rsplit(|byte| *byte == 0);
        let variables = variables.take_while(|variable| variable.contains(&b'='));
        let variables: Vec<&[u8]> = variables.collect();
        Some(variables.join(&0))
    }

    /// The files with code that have changed or disappeared.
    fn changed<'data>(&self, mapped: &[Mapped<'data>]) -> BTreeSet<&'data Path> {
        let with_code = mapped.iter().filter(|file| self.is_code(file.range.start));
        let with_code: BTreeSet<&Path> = with_code.map(|file| file.path).collect();
        let begins = |file: &&Mapped<'data>| file.offset == 0 && with_code.contains(file.path);
        let has_changed = |file: &&Mapped<'data>| {
            let mut page = vec![0; PAGE];
            let was = self.read(file.range.start, &mut page);
            let was = was.and_then(|()| build(&page));
            if length(file.path).is_none() {
                return true;
            }
            let Ok(now) = File::open(file.path) else {
                return true;
            };
            page.clear();
            // A file that cannot be read provides no symbols.
            if now.take(PAGE as u64).read_to_end(&mut page).is_err() {
                return true;
            }
            was.is_some() && was != build(&page)
        };
        let changed = mapped.iter().filter(begins).filter(has_changed);
        changed.map(|file| file.path).collect()
    }

    /// The list of mappings in a running process's format.
    fn listed(&self, mapped: &[Mapped<'_>], unnamed: &BTreeSet<&Path>) -> String {
        let line = |file: &Mapped<'_>| {
            // Files without code are irrelevant.
            let is_code = self.is_code(file.range.start) && !unnamed.contains(file.path);
            format!(
                "{:x}-{:x} r-{}p {:x} 00:00 0 {}\n",
                file.range.start,
                file.range.end,
                if is_code { 'x' } else { '-' },
                file.offset,
                file.path.display(),
            )
        };
        mapped.iter().map(line).collect()
    }
}

impl Source for Dump {
    fn maps(&self) -> &str {
        &self.maps
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        let piece = self.piece(at)?;
        let from = at - piece.start;
        let end = from.checked_add(into.len() as u64)?;
        (end <= piece.kept).then_some(())?;
        self.file.read_exact_at(into, piece.offset + from).ok()
    }

    fn threads(&self) -> BTreeMap<u32, u32> {
        self.threads
            .keys()
            .map(|thread| (*thread, *thread))
            .collect()
    }

    fn name(&self, _thread: u32) -> Option<String> {
        None
    }

    fn futex(&self, thread: u32) -> Option<[u64; 6]> {
        let (call, arguments) = self.threads.get(&thread)?;
        (*call == FUTEX).then_some(*arguments)
    }

    fn environment(&self) -> Option<Vec<u8>> {
        self.environment.clone()
    }

    fn alive(&self) -> Option<u32> {
        None
    }

    fn observed(&self) -> Option<Observed> {
        // The records are in a shared file, which no core dump contains, and which the command
        // removes.
        None
    }
}
