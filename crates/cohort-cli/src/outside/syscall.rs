//! The kernel's line about the system call that a thread is in.

/// A system call that a thread is in, or its sleep outside of any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The call's number, -1 outside of any.
    number: i64,
    arguments: [u64; 6],
    /// The stack pointer.
    pub stack: u64,
    /// Where the thread is.
    pub at: u64,
}

/// A sleep at a futex word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// The word.
    pub word: u64,
    /// What the word held as the thread went to sleep.
    pub seen: u32,
    /// Whether only some wakes are for it.
    pub has_classes: bool,
    /// Whether the kernel hands the word over, as it does with priority inheritance.
    pub inherits: bool,
}

impl Call {
    /// Reads a line; none for a thread that runs.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let number: i64 = words.next()?.parse().ok()?;
        let mut next = || {
            let word = words.next()?;
            u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
        };
        let mut arguments = [0; 6];
        if number >= 0 {
            for argument in &mut arguments {
                *argument = next()?;
            }
        }
        Some(Self {
            number,
            arguments,
            stack: next()?,
            at: next()?,
        })
    }

    /// The sleep at a futex word, if it is one.
    pub fn sleep(&self) -> Option<Sleep> {
        /// The kind of call, without what is said beside it.
        const KIND: u64 = 0x7f;
        const WAIT: u64 = libc::FUTEX_WAIT as u64;
        const WAIT_BITSET: u64 = libc::FUTEX_WAIT_BITSET as u64;
        const LOCK_PI: u64 = libc::FUTEX_LOCK_PI as u64;
        const LOCK_PI2: u64 = 13;
        if self.number != libc::SYS_futex {
            return None;
        }
        let [word, kind, seen, _, _, classes] = self.arguments;
        let kind = kind & KIND;
        let is_wait = [WAIT, WAIT_BITSET, LOCK_PI, LOCK_PI2].contains(&kind);
        is_wait.then_some(Sleep {
            word,
            seen: seen as u32,
            has_classes: kind == WAIT_BITSET && classes as u32 != u32::MAX,
            inherits: matches!(kind, LOCK_PI | LOCK_PI2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = format!(
            "{} 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f12\n",
            libc::SYS_futex
        );
        let call = Call::parse(&line).unwrap();
        assert_eq!((call.stack, call.at), (0x7ffd, 0x7f12));
        let sleep = call.sleep().unwrap();
        assert_eq!((sleep.word, sleep.seen, sleep.inherits), (0x7f00, 2, false));
        let outside = Call::parse("-1 0x7ffd 0x7f12\n").unwrap();
        assert_eq!((outside.at, outside.sleep()), (0x7f12, None));
        for running in ["running\n", "", "7 0x1"] {
            assert_eq!(Call::parse(running), None);
        }
        let wake = line.replace("0x80", "0x81");
        assert_eq!(Call::parse(&wake).unwrap().sleep(), None);
    }
}
