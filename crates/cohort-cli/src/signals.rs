//! What the command itself was started with, noted before Rust's start-up code changes it: the signal
//! state, which a program started by the command must find, and whether there is a standard output.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the command needs otherwise than a service manager or shell may have set
/// it: output to a closed pipe ends it, and its children can be waited for.
const ALTERED: [i32; 2] = [libc::SIGPIPE, libc::SIGCHLD];

static WERE_IGNORED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

static HAS_OUTPUT: AtomicBool = AtomicBool::new(true);

/// Runs before Rust's own start-up code, which sets SIGPIPE to "ignore" and
/// forgets what it was; services are commonly started with it ignored. It opens
/// `/dev/null` in place of a standard output that is closed, too.
#[used]
// SAFETY: constructors take no arguments that this one would misread, and it
// needs nothing that is set up later.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = remember;

extern "C" fn remember() {
    for (signal, was_ignored) in ALTERED.iter().zip(&WERE_IGNORED) {
        was_ignored.store(is_ignored(*signal), Ordering::Relaxed);
    }
    // SAFETY: the call asks for a mark of a descriptor and changes nothing.
    let is_open = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } != -1;
    HAS_OUTPUT.store(is_open, Ordering::Relaxed);
}

/// Whether the command was started with a standard output: otherwise what is written there goes nowhere.
pub fn has_output() -> bool {
    HAS_OUTPUT.load(Ordering::Relaxed)
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeroes is a valid sigaction; a null new action only reads.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Sets the signal actions that this process itself needs.
pub fn settle() {
    ALTERED.into_iter().for_each(set_default);
}

/// Sets `signal` to its default action.
pub fn set_default(signal: i32) {
    // SAFETY: the default action runs no code of this process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Which signals are blocked.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl Mask {
    /// The one of this thread.
    pub fn current() -> Self {
        // SAFETY: all zeroes is a valid set to overwrite; a null new mask only reads.
        unsafe {
            let mut now: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now);
            Self(now)
        }
    }

    /// Exactly these.
    pub fn of(signals: &[i32]) -> Self {
        // SAFETY: all zeroes is a valid set to overwrite, and the numbers are
        // those of real signals.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            Self(set)
        }
    }

    /// All of them.
    pub fn all() -> Self {
        // SAFETY: all zeroes is a valid set to overwrite.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            Self(set)
        }
    }

    /// Makes it this thread's mask.
    pub fn set(&self) {
        // SAFETY: the set is initialised; the old mask is not asked for.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }

    /// Blocks these as well.
    pub fn block(&self) {
        // SAFETY: as in `set`.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, std::ptr::null_mut()) };
    }

    /// Lets these through.
    pub fn unblock(&self) {
        // SAFETY: as in `set`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const self.0, std::ptr::null_mut())
        };
    }

    /// Waits for one of these, which must be blocked: its number, and whether
    /// the kernel itself sent it, as a terminal does.  Blocks.
    pub fn wait(&self) -> (i32, bool) {
        loop {
            // SAFETY: the set is initialised and `about` is writable.
            let (signal, about) = unsafe {
                let mut about: libc::siginfo_t = std::mem::zeroed();
                let signal = libc::sigwaitinfo(&raw const self.0, &raw mut about);
                (signal, about)
            };
            // Interrupted by a signal outside the set, or by being continued.
            if signal > 0 {
                return (signal, about.si_code > 0);
            }
        }
    }
}

/// Makes `command` start with `mask` and with the actions that this process was
/// started with: the standard library resets them.
pub fn pass_on(command: &mut Command, mask: Mask) {
    let ignored = [0, 1].map(|place: usize| WERE_IGNORED[place].load(Ordering::Relaxed));
    let restore = move || {
        for (signal, ignored) in ALTERED.into_iter().zip(ignored) {
            let action = if ignored {
                libc::SIG_IGN
            } else {
                libc::SIG_DFL
            };
            // SAFETY: neither action runs code of this process.
            unsafe { libc::signal(signal, action) };
        }
        mask.set();
        Ok(())
    };
    // SAFETY: the closure makes three system calls and allocates nothing, which
    // is allowed between fork and exec.
    unsafe { command.pre_exec(restore) };
}
