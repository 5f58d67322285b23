//! Functions of an image in memory, such as the C library or the kernel's vDSO, by their names.
//!
//! The loader's own search takes the first definition of a name, which may be a wrapper of the
//! program or of another library. It takes the loader's lock, too.

use core::ffi::CStr;
use core::ptr;

/// An image that stays mapped.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The offset of its addresses.
    bias: usize,
    symbols: *const Symbol,
    strings: *const u8,
    /// The table by which GNU loaders search; null if missing.
    gnu: *const u32,
    /// The older table, with the number of symbols; null if missing.
    counted: *const u32,
}

/// `Elf64_Sym`.
#[derive(Debug)]
#[repr(C)]
struct Symbol {
    name: u32,
    _info: u8,
    _other: u8,
    section: u16,
    value: usize,
    _size: usize,
}

impl Image {
    /// The image with that dynamic section; `None` if it has no symbols.
    ///
    /// # Safety
    /// `dynamic` is the section of an image that is mapped with that bias, for ever.
    #[must_use]
    pub unsafe fn new(bias: usize, dynamic: *const [usize; 2]) -> Option<Self> {
        const END: usize = 0;
        const HASH: usize = 4;
        const STRINGS: usize = 5;
        const SYMBOLS: usize = 6;
        const GNU_HASH: usize = 0x6fff_fef5;
        let mut found = [0; 4];
        let mut entry = dynamic;
        loop {
            // SAFETY: the section has a terminating entry.
            let [tag, at] = unsafe { entry.read() };
            let place = match tag {
                END => break,
                SYMBOLS => 0,
                STRINGS => 1,
                GNU_HASH => 2,
                HASH => 3,
                _ => usize::MAX,
            };
            if let Some(found) = found.get_mut(place) {
                // The loader has relocated the addresses of the images that it has mapped.
                *found = if at < bias { bias + at } else { at };
            }
            entry = entry.wrapping_add(1);
        }
        let [symbols, strings, gnu, counted] = found;
        (symbols != 0 && strings != 0).then_some(Self {
            bias,
            symbols: ptr::with_exposed_provenance(symbols),
            strings: ptr::with_exposed_provenance(strings),
            gnu: ptr::with_exposed_provenance(gnu),
            counted: ptr::with_exposed_provenance(counted),
        })
    }

    /// The function of that name.
    #[must_use]
    pub fn find(&self, name: &CStr) -> Option<*mut ()> {
        if !self.gnu.is_null() {
            return self.find_by_hash(name);
        }
        if self.counted.is_null() {
            return None;
        }
        // SAFETY: the table's second word, mapped as long as the image.
        let count = unsafe { self.counted.add(1).read() };
        (0..count).find_map(|number| self.defined(number, name))
    }

    fn find_by_hash(&self, name: &CStr) -> Option<*mut ()> {
        let hash = name.to_bytes().iter().fold(5381_u32, |hash, byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
        });
        // SAFETY: the table's layout: the number of buckets, the first symbol in a chain, the
        // number of 64-bit words, and one more number; those words; the buckets; the chains.
        unsafe {
            let [count, first, words] = self.gnu.cast::<[u32; 3]>().read();
            let buckets = self.gnu.add(4 + 2 * words as usize);
            let chains = buckets.add(count as usize);
            let mut number = buckets.add(hash.checked_rem(count)? as usize).read();
            while number >= first {
                let link = chains.add((number - first) as usize).read();
                if (link ^ hash) >> 1 == 0
                    && let Some(found) = self.defined(number, name)
                {
                    return Some(found);
                }
                if link & 1 != 0 {
                    break;
                }
                number += 1;
            }
        }
        None
    }

    /// The address of that symbol, if it has that name and is defined in the image.
    fn defined(&self, number: u32, name: &CStr) -> Option<*mut ()> {
        // SAFETY: the image has so many symbols, and their names.
        let (symbol, named) = unsafe {
            let symbol = &*self.symbols.add(number as usize);
            (symbol, self.strings.add(symbol.name as usize))
        };
        let mut bytes = name.to_bytes_with_nul().iter().enumerate();
        // SAFETY: no byte after the name's terminating zero is read.
        let is_it = bytes.all(|(place, byte)| unsafe { named.add(place).read() == *byte });
        (is_it && symbol.section != 0)
            .then(|| ptr::with_exposed_provenance_mut(self.bias + symbol.value))
    }
}

/// The functions that the kernel has mapped into the process.
#[must_use]
pub(super) fn vdso() -> Option<Image> {
    const HEADER: usize = 33;
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;

    /// `Elf64_Phdr`.
    #[repr(C)]
    struct Segment {
        kind: u32,
        _flags: u32,
        offset: usize,
        address: usize,
        _rest: [usize; 4],
    }
    // SAFETY: the C library's declaration.
    unsafe extern "C" {
        fn getauxval(kind: usize) -> usize;
    }
    // SAFETY: reads the kernel's start-up report; 0 if there is none, or an image's header.
    unsafe {
        let header = getauxval(HEADER);
        if header == 0 {
            return None;
        }
        let bytes: *const u8 = ptr::with_exposed_provenance(header);
        let segments = bytes
            .add(bytes.add(32).cast::<usize>().read())
            .cast::<Segment>();
        let count = bytes.add(56).cast::<u16>().read();
        let mut dynamic = 0;
        for number in 0..usize::from(count) {
            let segment = &*segments.add(number);
            match segment.kind {
                // Old kernels have it elsewhere.
                LOAD if segment.address != segment.offset => return None,
                DYNAMIC => dynamic = header + segment.offset,
                _ => {}
            }
        }
        if dynamic == 0 {
            return None;
        }
        Image::new(header, ptr::with_exposed_provenance(dynamic))
    }
}
