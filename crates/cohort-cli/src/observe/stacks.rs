//! Names for addresses of another process: stacks unwound from copied memory, functions with
//! their files and lines, and variables.

use super::site::Site;
use crate::page::visible;
use addr2line::Loader;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Frames of a stack that are shown.
const FRAMES: usize = 24;

/// Where debug information that was split off is kept.
const SPLIT_OFF: &str = "/usr/lib/debug/.build-id";

/// One frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The address, in the process.
    pub address: u64,
    /// The file that it is mapped from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Where in that file's image.
    pub offset: u64,
    /// The function, or the nearest exported name below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl fmt::Display for Frame {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let module = self
            .module
            .as_deref()
            .map_or("?", |path| path.rsplit('/').next().unwrap_or(path));
        match (&self.function, &self.file, self.line) {
            (Some(function), Some(file), Some(line)) => write!(to, "{function}  {file}:{line}"),
            (Some(function), _, _) => write!(to, "{function}  {module}+{:#x}", self.offset),
            (None, _, _) if self.module.is_some() => write!(to, "{module}+{:#x}", self.offset),
            (None, _, _) => write!(to, "{:#x}", self.address),
        }
    }
}

/// A stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
    /// Whether there was more of it than could be read.
    pub is_cut: bool,
}

/// A part of a file that is mapped.
#[derive(Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where.
    pub range: Range<u64>,
    /// From where in the file.
    pub offset: u64,
}

/// Files with their pieces.
pub type Files = Vec<(PathBuf, Vec<Piece>)>;

/// A file that is mapped.
struct Mapped {
    range: Range<u64>,
    /// What is added to an address of the file's image.
    bias: u64,
    path: PathBuf,
}

/// Names for one file's addresses.
pub struct Names {
    loader: Option<Loader>,
    split_off: Option<Loader>,
    /// Variables and exported functions: address, size, name.
    symbols: Vec<(u64, u64, String)>,
    /// The code, the first mapped page's address among the image's.
    code: Range<u64>,
    first_page: u64,
    /// Those of the symbols that are variables, by address.
    variables: HashSet<u64>,
}

/// Names for the addresses of one process.
pub struct Stacks {
    process: u32,
    /// The files with code, as they were mapped at the last look; behind these, closed ones.
    files: Files,
    /// How many were mapped.
    open: usize,
    /// How many of these have been read.
    read: usize,
    /// The root folder of its mount namespace, if that is not this command's.
    root: Option<File>,
    mapped: Vec<Mapped>,
    unwinder: UnwinderX86_64<Vec<u8>>,
    /// What it has found out about this code, for the next stack, which has much of it again.
    known: CacheX86_64,
    names: HashMap<PathBuf, Names>,
}

impl Stacks {
    /// Of a process whose mappings are not known yet.
    pub fn new(process: u32) -> Self {
        Self {
            process,
            files: Files::new(),
            open: 0,
            read: 0,
            root: None,
            mapped: Vec::new(),
            unwinder: UnwinderX86_64::new(),
            known: CacheX86_64::new(),
            names: HashMap::new(),
        }
    }

    /// Goes by the process's mappings as one of these threads has them now, by their numbers here:
    /// one that is ending has none. By `kept`, if all are gone and they were never seen.  Closed files
    /// have names too.
    pub fn refresh(&mut self, threads: impl Iterator<Item = u32>, kept: &str, closed: Files) {
        self.see(threads, kept, closed);
        self.read_all();
    }

    /// The same, but that no file is read yet: a large one takes its time.
    pub fn see(&mut self, threads: impl Iterator<Item = u32>, kept: &str, closed: Files) {
        let process = self.process;
        let of = |thread| PathBuf::from(format!("/proc/{process}/task/{thread}"));
        let mut seen = threads.filter_map(|thread| {
            let maps = File::open(of(thread).join("maps")).ok()?;
            Some((whole(maps)?, Some(thread)))
        });
        let (mut files, thread) = match seen.next() {
            Some((maps, thread)) => (files(&maps), thread),
            None if self.open == 0 => (files(kept), None),
            None => (self.files[..self.open].to_vec(), None),
        };
        let open = files.len();
        files.extend(closed);
        if files == self.files {
            return;
        }
        if let Some(root) = thread.and_then(|thread| root(&of(thread))) {
            self.root = root;
        }
        self.mapped.clear();
        self.unwinder = UnwinderX86_64::new();
        self.known = CacheX86_64::new();
        self.files = files;
        self.open = open;
        self.read = 0;
    }

    /// Whether all files that were seen have been read, as unwinding and naming need.
    pub fn is_read(&self) -> bool {
        self.read == self.files.len()
    }

    /// The length in bytes of the next unread file, if there is one.
    pub fn next_length(&self) -> u64 {
        let next = self.files.get(self.read);
        next.and_then(|(path, _)| length(&self.seen(path)))
            .unwrap_or(0)
    }

    /// Reads the next file of those that were seen, if any has not been read.
    pub fn read_next(&mut self) {
        if self.is_read() {
            return;
        }
        let files = std::mem::take(&mut self.files);
        let (path, pieces) = &files[self.read];
        self.map(path, pieces);
        self.files = files;
        self.read += 1;
    }

    /// Reads what has not been read yet of those that were seen.
    pub fn read_all(&mut self) {
        while !self.is_read() {
            self.read_next();
        }
    }

    /// Takes note of a file that is mapped in these pieces.
    fn map(&mut self, path: &Path, pieces: &[Piece]) {
        let Some(bytes) = bytes(&self.seen(path)) else {
            return;
        };
        let Ok(image) = object::File::parse(&*bytes) else {
            return;
        };
        let Some(bias) = bias(&image, pieces) else {
            return;
        };
        // What a program begins with zeroes is mapped behind its file, from no file.
        let ends = image.segments().map(|part| part.address() + part.size());
        let end = ends.max().unwrap_or(0).wrapping_add(bias);
        let range = pieces[0].range.start..end.max(pieces[pieces.len() - 1].range.end);
        let section = |name: &str| {
            let section = image.section_by_name(name)?;
            let data = section.uncompressed_data().ok()?.into_owned();
            let start = section.address();
            Some((start..start + section.size(), data))
        };
        let (eh_frame_svma, eh_frame) = section(".eh_frame").unzip();
        let (eh_frame_hdr_svma, eh_frame_hdr) = section(".eh_frame_hdr").unzip();
        let (text_svma, text) = section(".text").unzip();
        let got_svma = section(".got").map(|(range, _)| range);
        self.unwinder.add_module(Module::new(
            path.display().to_string(),
            range.clone(),
            bias,
            ExplicitModuleSectionInfo {
                base_svma: 0,
                text_svma,
                text,
                got_svma,
                eh_frame_svma,
                eh_frame,
                eh_frame_hdr_svma,
                eh_frame_hdr,
                ..Default::default()
            },
        ));
        self.mapped.push(Mapped {
            range,
            bias,
            path: path.to_path_buf(),
        });
    }

    /// A file as the process sees it, which may be in a container; that may have ended.
    fn seen(&self, path: &Path) -> PathBuf {
        let inside = self.root.as_ref().map(|root| {
            PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd()))
                .join(path.strip_prefix("/").unwrap_or(path))
        });
        inside
            .filter(|inside| inside.exists())
            .unwrap_or_else(|| path.to_path_buf())
    }

    /// The stack of a call, by `memory` of it, which begins at the stack pointer.
    pub fn stack(&mut self, site: &Site, memory: &[u8]) -> Stack {
        let (addresses, is_cut) = self.unwound(site, memory);
        Stack {
            frames: self.named(&addresses),
            is_cut,
        }
    }

    /// The frames at these addresses, the innermost first.
    pub fn named(&mut self, addresses: &[u64]) -> Vec<Frame> {
        addresses
            .iter()
            .flat_map(|address| self.frames(*address))
            .collect()
    }

    /// The addresses of a stack's calls, the innermost first, and whether there are more that
    /// could not be read.
    pub fn unwound(&mut self, site: &Site, memory: &[u8]) -> (Vec<u64>, bool) {
        let mut cut = false;
        let mut read = |address: u64| {
            let word = address
                .checked_sub(site.stack)
                .and_then(|from| usize::try_from(from).ok())
                .and_then(|from| memory.get(from..from.checked_add(8)?))
                .and_then(|word| word.try_into().ok())
                .map(u64::from_le_bytes);
            cut |= word.is_none();
            word.ok_or(())
        };
        let registers = UnwindRegsX86_64::new(site.returns_to, site.stack, site.frame);
        let mut frames =
            self.unwinder
                .iter_frames(site.returns_to, registers, &mut self.known, &mut read);
        let mut addresses = Vec::new();
        while addresses.len() < FRAMES
            && let Ok(Some(frame)) = frames.next()
        {
            addresses.push(match addresses.len() {
                // A call returns behind itself: to the next line, perhaps.
                0 => site.returns_to - 1,
                _ => frame.address_for_lookup(),
            });
        }
        if addresses.is_empty() && site.returns_to != 0 {
            addresses.push(site.returns_to - 1);
        }
        (addresses, cut)
    }

    /// The frames at an address: more than one where functions are inlined.
    pub fn frames(&mut self, address: u64) -> Vec<Frame> {
        let Some((path, bias)) = self.at(address) else {
            return vec![Frame {
                address,
                ..Frame::default()
            }];
        };
        let offset = address.wrapping_sub(bias);
        let bare = Frame {
            address,
            module: Some(visible(&path.to_string_lossy())),
            offset,
            ..Frame::default()
        };
        let names = self.names(&path);
        let mut frames = Vec::new();
        // Leading frames of Cohort's interface: the reported place is the call of it, inlined there.
        let mut own = 0;
        for loader in [&names.loader, &names.split_off].into_iter().flatten() {
            let Ok(mut found) = loader.find_frames(offset) else {
                continue;
            };
            while let Ok(Some(frame)) = found.next() {
                let function = frame.function.and_then(|name| {
                    let is_rust = name.language == Some(addr2line::gimli::DW_LANG_Rust);
                    let name = visible(&name.demangle().ok()?);
                    Some(if is_rust { without_types(&name) } else { name })
                });
                let location = frame.location;
                let file = location.as_ref().and_then(|at| at.file);
                if own == frames.len() && (is_own(function.as_deref()) || is_of_crate(file)) {
                    own += 1;
                }
                frames.push(Frame {
                    function,
                    file: file.map(shortened),
                    line: location.and_then(|at| at.line),
                    ..bare.clone()
                });
            }
            if frames.iter().any(|frame| frame.line.is_some()) {
                frames.drain(..if own < frames.len() { own } else { 0 });
                return frames;
            }
            frames.clear();
            own = 0;
        }
        vec![Frame {
            function: names.nearest(offset),
            ..bare
        }]
    }

    /// The variable at an address, if it has a name.
    pub fn variable(&mut self, address: u64) -> Option<String> {
        let (path, bias) = self.at(address)?;
        let offset = address.wrapping_sub(bias);
        let symbols = &self.names(&path).symbols;
        let place = symbols.partition_point(|(start, _, _)| *start <= offset);
        let (start, size, name) = &symbols[place.checked_sub(1)?];
        match offset - start {
            0 => Some(name.clone()),
            inside if inside < *size => Some(format!("{name}+{inside}")),
            _ => None,
        }
    }

    fn at(&self, address: u64) -> Option<(PathBuf, u64)> {
        self.mapped
            .iter()
            .find(|mapped| mapped.range.contains(&address))
            .map(|mapped| (mapped.path.clone(), mapped.bias))
    }

    fn names(&mut self, path: &Path) -> &Names {
        // Where the file is, is asked once, not for each name in it.
        if !self.names.contains_key(path) {
            let names = Names::of(&self.seen(path));
            self.names.insert(path.to_path_buf(), names);
        }
        &self.names[path]
    }
}

impl Names {
    /// What a file says; nothing, if it cannot be read.
    pub fn of(path: &Path) -> Self {
        let bytes = bytes(path).unwrap_or_default();
        let image = object::File::parse(&*bytes).ok();
        let mut symbols = Vec::new();
        let mut variables = HashSet::new();
        let is_image = image.is_some();
        let mut code = 0..0;
        let mut first_page = 0;
        if let Some(image) = &image {
            let text = image.section_by_name(".text");
            code = text.map_or(0..0, |text| text.address()..text.address() + text.size());
            let first = image.segments().map(|segment| segment.address()).min();
            first_page = first.unwrap_or(0) & !4095;
            for symbol in image.symbols().chain(image.dynamic_symbols()) {
                if let (true, Ok(name)) = (symbol.is_definition(), symbol.name())
                    && !name.is_empty()
                {
                    symbols.push((symbol.address(), symbol.size(), plain(name)));
                    if symbol.kind() == SymbolKind::Data {
                        variables.insert(symbol.address());
                    }
                }
            }
            symbols.sort();
            symbols.dedup_by_key(|(address, _, _)| *address);
        }
        let split_off = image
            .and_then(|image| image.build_id().ok().flatten().map(<[u8]>::to_vec))
            .and_then(|id| {
                let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                let (folder, file) = hex.split_at_checked(2)?;
                let installed = Loader::new(format!("{SPLIT_OFF}/{folder}/{file}.debug"));
                installed.ok().or_else(|| Loader::new(fetched(&hex)?).ok())
            });
        Self {
            loader: is_image.then(|| Loader::new(path).ok()).flatten(),
            split_off,
            symbols,
            code,
            first_page,
            variables,
        }
    }

    /// The address in the image at which its first mapping begins.
    pub fn first_page(&self) -> u64 {
        self.first_page
    }

    /// The variables: where each is, and its name.
    pub fn variables(&self) -> impl Iterator<Item = (Range<u64>, &str)> {
        self.symbols_that(|address| self.variables.contains(&address))
    }

    /// The functions.
    pub fn functions(&self) -> impl Iterator<Item = (Range<u64>, &str)> {
        self.symbols_that(|address| self.code.contains(&address))
    }

    fn symbols_that(&self, are: impl Fn(u64) -> bool) -> impl Iterator<Item = (Range<u64>, &str)> {
        self.symbols
            .iter()
            .filter(move |(address, size, _)| *size > 0 && are(*address))
            .map(|(address, size, name)| (*address..*address + *size, name.as_str()))
    }

    /// Shows the addresses of each source line that code is made of.
    pub fn each_line<'a>(&'a self, mut show: impl FnMut(Range<u64>, &'a str, u32)) {
        for loader in [&self.loader, &self.split_off].into_iter().flatten() {
            let Range { start, end } = self.code;
            let Ok(found) = loader.find_location_range(start, end) else {
                continue;
            };
            for (address, length, location) in found {
                if let (Some(file), Some(line)) = (location.file, location.line) {
                    show(address..address + length, file, line);
                }
            }
        }
    }

    /// The function that contains an address, else the nearest name below it.
    fn nearest(&self, offset: u64) -> Option<String> {
        let place = self
            .symbols
            .partition_point(|(start, _, _)| *start <= offset);
        let (start, size, name) = &self.symbols[place.checked_sub(1)?];
        if offset - start < *size {
            Some(name.clone())
        } else {
            Some(format!("{name}+{:#x}", offset - start))
        }
    }
}

/// Whether a function is of Cohort's interface for Rust or C++.
fn is_own(function: Option<&str>) -> bool {
    let function = function.unwrap_or_default();
    let function = function.trim_start_matches('<');
    function.starts_with("cohort::") || function.starts_with("cohort_service::")
}

/// Whether a source file is of the crates `cohort` or `cohort-service`, in a checkout or in cargo's
/// registry.
fn is_of_crate(file: Option<&str>) -> bool {
    let file = file.unwrap_or_default();
    let mut packages = file.split("/cohort").skip(1);
    packages.any(|rest| {
        let rest = rest.strip_prefix("-service").unwrap_or(rest);
        let version = rest.strip_prefix('-');
        rest.starts_with("/src/") || version.is_some_and(|one| one.starts_with(char::is_numeric))
    })
}

/// A Rust function's name without type arguments: those of an inlined closure fill pages.
fn without_types(name: &str) -> String {
    if name.starts_with('<') {
        return name.to_owned();
    }
    let mut plain = String::new();
    let mut depth = 0;
    let mut before = ' ';
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        before = letter;
    }
    plain
}

/// The length of a file that may be a program or a library. A device or a pipe may have no end, and what the
/// kernel makes as it is read has a length of 0 and may have none either; a core dump may name any.
pub fn length(path: &Path) -> Option<u64> {
    /// More than a program has with all that is said of it for debuggers.
    const LONGEST: u64 = 2 << 30;
    let what = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    (1..=LONGEST).contains(&what.len()).then_some(what.len())
}

/// The bytes of such a file.
pub fn bytes(path: &Path) -> Option<Vec<u8>> {
    let length = length(path)?;
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(length).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A symbol's name as its source has it: what is not mangled is left, since a C variable `m` would
/// be taken for C++'s short form of `unsigned long`.
fn plain(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        visible(&addr2line::demangle_auto(symbol.into(), None))
    } else {
        visible(symbol)
    }
}

/// The last two parts of a source file's path: folder and name.
fn shortened(path: &str) -> String {
    let mut parts = path.rsplitn(3, '/');
    visible(&match (parts.next(), parts.next()) {
        (Some(name), Some(folder)) if !folder.is_empty() => format!("{folder}/{name}"),
        (Some(name), _) => name.to_owned(),
        (None, _) => path.to_owned(),
    })
}

/// A list of mappings; none if its program was over before all was read: then the list just ends.
fn whole(mut list: impl Read + Seek) -> Option<String> {
    let mut text = String::new();
    list.read_to_string(&mut text).ok()?;
    // If it is over, there is no first line any more either.
    list.rewind().ok()?;
    (list.read(&mut [0]).ok()? == 1).then_some(text)
}

/// The root folder that a thread sees, by its folder in `/proc`, open, so that what is below it is
/// found when the thread is gone.  Nothing inside if the thread's mount namespace is this command's:
/// a list of mappings has its files then as they are called here.  None if the thread is gone.
fn root(thread: &Path) -> Option<Option<File>> {
    let of = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
    if of(thread)? == of(Path::new("/proc/self"))? {
        return Some(None);
    }
    let mut options = File::options();
    let options = options.read(true).custom_flags(libc::O_PATH);
    options.open(thread.join("root")).ok().map(Some)
}

/// The files with code in a list of mappings, each with its pieces.
///
/// Others are data, such as the process's own records, of hundreds of megabytes: they have no
/// names, and they come and go.
fn files(maps: &str) -> Files {
    let mut files: Vec<(PathBuf, Vec<Piece>, bool)> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (Some(range), Some(allowed), Some(offset)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Some(path) = line.find('/').map(|at| &line[at..]) else {
            continue;
        };
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((Some(start), Some(end))) = range
            .split_once('-')
            .map(|(start, end)| (hex(start), hex(end)))
        else {
            continue;
        };
        let Some(offset) = hex(offset) else { continue };
        let piece = Piece {
            range: start..end,
            offset,
        };
        let has_code = allowed.contains('x');
        match files.last_mut() {
            Some((last, pieces, code)) if last.as_os_str() == path => {
                pieces.push(piece);
                *code |= has_code;
            }
            _ => files.push((PathBuf::from(path), vec![piece], has_code)),
        }
    }
    files
        .into_iter()
        .filter_map(|(path, pieces, code)| code.then_some((path, pieces)))
        .collect()
}

/// What is added to an address of an image where it is mapped so.
fn bias(image: &object::File<'_>, pieces: &[Piece]) -> Option<u64> {
    let Piece { range, offset } = pieces.first()?;
    image.segments().find_map(|segment| {
        let (from, length) = segment.file_range();
        // Mappings begin at a page.
        let page = from & !4095;
        (page <= *offset && *offset < from + length).then(|| {
            range
                .start
                .wrapping_sub((segment.address() & !4095) + (offset - page))
        })
    })
}

/// The file with the debug information of a build, which elfutils' client fetches from the servers that
/// `DEBUGINFOD_URLS` names, and keeps.
fn fetched(build: &str) -> Option<PathBuf> {
    std::env::var_os("DEBUGINFOD_URLS").filter(|servers| !servers.is_empty())?;
    let output = Command::new("debuginfod-find")
        .args(["debuginfo", build])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim_end().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, SeekFrom};
    use std::time::Duration;

    #[test]
    fn types_are_left_out_of_rust_names() {
        for (name, plain) in [
            ("main", "main"),
            ("lock<[i64; 2], cohort::numa::FutexHmcs>", "lock"),
            ("call<fn(u8) -> Vec<u8>, ()>", "call"),
            ("<T as Trait<u8>>::run", "<T as Trait<u8>>::run"),
        ] {
            assert_eq!(without_types(name), plain);
        }
    }

    #[test]
    fn own_sources_are_known_wherever_they_are() {
        for file in [
            "/w/crates/cohort/src/sync/mutex.rs",
            "/r/cohort-0.1.0/src/sync/mutex.rs",
            "/w/crates/cohort-service/src/gls.rs",
            "/r/cohort-service-0.1.0/src/gls.rs",
        ] {
            assert!(is_of_crate(Some(file)), "{file}");
        }
        for file in [
            "/w/crates/cohort-cli/src/run.rs",
            "/w/cohort/examples/abba.rs",
        ] {
            assert!(!is_of_crate(Some(file)), "{file}");
        }
    }

    #[test]
    fn only_what_is_mangled_is_demangled() {
        for (symbol, name) in [
            ("m", "m"),
            ("stats_lock", "stats_lock"),
            ("_ZN2kc5Mutex4lockEv", "kc::Mutex::lock()"),
            ("_init", "_init"),
        ] {
            assert_eq!(plain(symbol), name);
        }
    }

    /// A process that is over is not asked for its files any more, in a container or not.
    #[test]
    fn a_file_is_found_when_its_process_is_gone() {
        for (words, is_apart) in [
            (&["sleep", "60"][..], false),
            (&["unshare", "-rm", "sleep", "60"], true),
        ] {
            let Ok(mut child) = Command::new(words[0]).args(&words[1..]).spawn() else {
                eprintln!("skip: there is no {}", words[0]);
                continue;
            };
            let mut stacks = Stacks::new(child.id());
            let seen = loop {
                stacks.refresh([child.id()].into_iter(), "", Files::new());
                if let Some(mapped) = stacks.mapped.first()
                    && stacks.root.is_some() == is_apart
                {
                    break Some(stacks.seen(&mapped.path));
                }
                if child.try_wait().expect("a child").is_some() {
                    break None;
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            let _ = child.kill();
            child.wait().expect("a child");
            match seen {
                Some(seen) => assert!(seen.exists(), "{words:?}: {}", seen.display()),
                None => eprintln!("skip: {words:?} is not allowed here"),
            }
        }
    }

    /// What `/proc` shows of a process that ends while its list is read, a byte at a time.
    struct Ending {
        list: &'static [u8],
        /// How many bytes can be read until then, from wherever.
        left: usize,
        next: usize,
    }

    impl Read for Ending {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(byte) = self.list.get(self.next).filter(|_| self.left > 0) else {
                return Ok(0);
            };
            into[0] = *byte;
            self.left -= 1;
            self.next += 1;
            Ok(1)
        }
    }

    impl Seek for Ending {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            assert_eq!(to, SeekFrom::Start(0));
            self.next = 0;
            Ok(0)
        }
    }

    #[test]
    fn no_more_is_read_of_a_file_than_it_has() {
        assert!(
            bytes(Path::new("/proc/self/exe")).is_some_and(|bytes| bytes.starts_with(b"\x7fELF"))
        );
        // The first would be read for hours, and is a file that has a length of 0.
        for endless in ["/proc/self/pagemap", "/dev/zero", "/proc/self"] {
            assert_eq!(length(Path::new(endless)), None, "{endless}");
        }
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        assert_eq!(length(file.path()), None);
        file.as_file().set_len(1 << 40).expect("a sparse file");
        assert_eq!(bytes(file.path()), None);
        file.as_file().set_len(3).expect("our file");
        assert_eq!(bytes(file.path()), Some(vec![0; 3]));
    }

    #[test]
    fn a_list_that_ends_with_its_process_is_none() {
        let after = |left| Ending {
            list: b"one\ntwo\n",
            left,
            next: 0,
        };
        assert_eq!(whole(after(0)), None);
        assert_eq!(whole(after(4)), None);
        assert_eq!(whole(after(9)).as_deref(), Some("one\ntwo\n"));
    }

    /// A process's own records are mapped too: hundreds of megabytes, which are not to be read as
    /// if they were code at each look.
    #[test]
    fn files_without_code_are_left_alone() {
        let maps = "\
            55d0a000-55d0b000 r--p 00000000 fe:00 11 /usr/bin/a program\n\
            55d0b000-55d0c000 r-xp 00001000 fe:00 11 /usr/bin/a program\n\
            55d0c000-55d0d000 rw-p 00002000 fe:00 11 /usr/bin/a program\n\
            7f000000-7f900000 rw-s 00000000 00:1b 12 /dev/shm/cohort-x/17.1\n\
            7fa00000-7fa01000 rw-p 00000000 00:00 0\n\
            7fb00000-7fb01000 r--p 00000000 fe:00 13 /usr/share/locale\n\
            7fff0000-7fff1000 r-xp 00000000 00:00 0 [vdso]\n";
        let [(path, pieces)] = &files(maps)[..] else {
            panic!("one file has code");
        };
        assert_eq!(path, Path::new("/usr/bin/a program"));
        let starts: Vec<u64> = pieces.iter().map(|piece| piece.range.start).collect();
        assert_eq!(starts, [0x55d0_a000, 0x55d0_b000, 0x55d0_c000]);
        assert_eq!(pieces[1].offset, 0x1000);
    }
}
