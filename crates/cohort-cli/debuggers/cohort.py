"""Cohort's locks in GDB and LLDB: of a running process, and of a core dump, on x86-64.

    (gdb) source PREFIX/share/cohort/cohort.py
    (lldb) command script import PREFIX/share/cohort/cohort.py

    cohort-locks                        what the threads wait for, and which threads hold it
    print some_mutex                    "held by thread 4711", "held", "free"

A plain mutex does not note its holder; one that is recursive or checks errors does, and a rwlock
notes its writer.  Waiters in the queue of another lock than the default are not found.  A test
compares the numbers below with those of the library.
"""

import struct

try:
    import gdb
except ImportError:
    gdb = None
    import lldb

# The default lock's word.
MUTEX_HELD = 1
MUTEX_SLEEPERS = 34
# A program's mutex.
MUTEX_OWNER = 8
MUTEX_KIND = 16
# A program's rwlock.
RWLOCK_WORD = 8
RWLOCK_GENERATION = 12
RWLOCK_WRITER = 16
RWLOCK_READERS = 0xFFFFF
RWLOCK_WRITTEN = 1 << 23
RWLOCK_SLEEPER = 1 << 20
RWLOCK_BIASED = 1 << 26
# A condition, and a thread's node in its queue.
CONDITION_FIRST = 8
WAITER_WAITING = 0
WAITER_CLASS = 1
WAITER_ADOPTED = 8
WAITER_AT = 16
WAITER_MUTEX = 24
FUTEX = 202
FUTEX_WAIT = 0
FUTEX_WAIT_BITSET = 9


class Gdb:
    """What is asked of a debugger, of GDB."""

    def has_process(self):
        return gdb.selected_thread() is not None

    def memory(self, at, size):
        """Bytes of the process's memory; None where nothing is mapped."""
        try:
            return bytes(gdb.selected_inferior().read_memory(at, size))
        except gdb.error:
            return None

    def threads(self):
        """Each thread's number, its name, and a function that has its registers."""
        before = gdb.selected_thread()
        try:
            for thread in reversed(gdb.selected_inferior().threads()):
                thread.switch()
                yield thread.ptid[1] or thread.ptid[0], thread.name or "", self.register
        finally:
            if before is not None:
                before.switch()

    def register(self, name):
        try:
            return int(gdb.parse_and_eval("(unsigned long)$" + name))
        except gdb.error:
            return None

    def symbol(self, at):
        """The name at an address, if it has one."""
        said = gdb.execute("info symbol %d" % at, to_string=True).strip()
        return "" if said.startswith("No symbol") else said.split(" in section ")[0]

    def files(self):
        """The names of what is loaded."""
        return [file.filename or "" for file in gdb.objfiles()]


class Lldb:
    """The same, of LLDB."""

    def target(self):
        return lldb.debugger.GetSelectedTarget()

    def has_process(self):
        return self.target().GetProcess().GetNumThreads() > 0

    def memory(self, at, size):
        error = lldb.SBError()
        memory = self.target().GetProcess().ReadMemory(at, size, error)
        return memory if error.Success() else None

    def threads(self):
        for thread in self.target().GetProcess():
            frame = thread.GetFrameAtIndex(0)

            def register(name):
                value = frame.FindRegister(name)
                return value.GetValueAsUnsigned() if value.IsValid() else None

            yield thread.GetThreadID(), thread.GetName() or "", register

    def symbol(self, at):
        address = self.target().ResolveLoadAddress(at)
        name = address.GetSymbol().GetName()
        if not name:
            return ""
        beyond = at - address.GetSymbol().GetStartAddress().GetLoadAddress(self.target())
        return "%s + %d" % (name, beyond) if beyond else name

    def files(self):
        return [module.GetFileSpec().GetFilename() or "" for module in self.target().modules]


debugger = Gdb() if gdb else Lldb()


def read(at, form):
    """A number of that form in the process's memory; 0 where nothing is mapped."""
    memory = debugger.memory(at, struct.calcsize(form))
    return struct.unpack(form, memory)[0] if memory else 0


def word(at):
    return read(at, "<I")


def pointer(at):
    return read(at, "<Q")


def is_rwlock(at):
    """Whether a rwlock with waiters is there: it notes a process, where a mutex has the upper half
    of an address."""
    return word(at) & MUTEX_HELD and 0 < word(at + RWLOCK_GENERATION) < 4096


def object_of(at, seen, classes):
    """What a thread sleeps for that saw that at a word, and where it is."""
    if seen == WAITER_WAITING and classes == WAITER_CLASS:
        condition = pointer(at + WAITER_AT)
        if word(at) & WAITER_ADOPTED:
            return "mutex", pointer(at + WAITER_MUTEX)
        if condition and condition % 4 == 0 and word(condition + CONDITION_FIRST):
            return "condition", condition
    if seen & RWLOCK_SLEEPER and is_rwlock(at - RWLOCK_WORD):
        return "rwlock", at - RWLOCK_WORD
    if not seen & MUTEX_HELD or not seen & MUTEX_SLEEPERS:
        return "word", at
    return ("rwlock" if is_rwlock(at) else "mutex"), at


def noted(at):
    """The thread that is noted there: the lower half of its name."""
    return word(at)


def held(held, thread):
    if not held:
        return "free"
    return "held by thread %d" % thread if thread else "held"


def mutex(at):
    """How a mutex is held, in words."""
    notes = word(at + MUTEX_KIND) & 3 in (1, 2)
    return held(word(at) & MUTEX_HELD, noted(at + MUTEX_OWNER) if notes else 0)


def rwlock(at, writer=None):
    """How a rwlock is held, in words; a program's notes its writer."""
    now = word(at + RWLOCK_WORD)
    readers = now & RWLOCK_READERS
    if readers and not now & RWLOCK_WRITTEN:
        return "held by %d reader%s" % (readers, "" if readers == 1 else "s")
    if now & RWLOCK_BIASED:
        return "held by readers in slots, if any"
    return held(now & RWLOCK_WRITTEN, noted(at + RWLOCK_WRITER) if writer is None else writer)


STATES = {"mutex": mutex, "rwlock": rwlock}


def is_waiting(register):
    """Whether a thread with those registers sleeps at a word."""
    call = register("orig_rax")
    if call is None:
        # LLDB does not say which call it is: the last instruction was one, as far as a core dump has
        # instructions, and names a word.
        calls = debugger.memory(register("rip") - 2, 2) in (b"\x0f\x05", None)
        call = FUTEX if calls and debugger.memory(register("rdi"), 4) else None
    return call == FUTEX and register("rsi") & 0x7F in (FUTEX_WAIT, FUTEX_WAIT_BITSET)


def sleeps():
    """The threads that sleep at a word, with what they sleep for."""
    for thread, name, register in debugger.threads():
        if register("rip") is None or not is_waiting(register):
            continue
        at, seen, classes = map(register, ("rdi", "rdx", "r9"))
        yield thread, name, object_of(at, seen & 0xFFFFFFFF, classes & 0xFFFFFFFF)


def locks():
    """What the threads wait for, and which threads hold it, in lines."""
    waiting = {}
    for thread, name, found in sleeps():
        waiting.setdefault(found, []).append(("%d %s" % (thread, name)).strip())
    for (kind, at), threads in sorted(waiting.items()):
        state = STATES[kind](at) if kind in STATES else ""
        parts = [kind, "%#x" % at, debugger.symbol(at), state]
        yield "  ".join(part for part in parts if part)
        yield "    waiting: %s" % ", ".join(threads)
    if not waiting:
        yield "no thread sleeps for a lock or a condition"


NO_PROCESS = "no process and no core dump: attach to one first"


def is_served():
    """Whether the C library's objects are ours in this process."""
    return any("libcohort_" in file for file in debugger.files())


# Those of programs that are written for them, in C, C++ and Rust.
MUTEXES = (
    "cohort_mutex_t",
    "cohort_mutex",
    "cohort::numa::futex_hmcs::FutexHmcs",
    "cohort::basic::futex::Futex",
)
RWLOCKS = ("cohort_rwlock_t", "cohort_rwlock", "cohort::rwlock::raw::RawRwLock")


def state_of(name):
    """What says how an object of that type is held, if it is one of ours."""
    if name in ("pthread_mutex_t", "pthread_rwlock_t") and is_served():
        return mutex if "mutex" in name else rwlock
    if name in MUTEXES:
        return lambda at: held(word(at) & MUTEX_HELD, 0)
    if name in RWLOCKS:
        return lambda at: rwlock(at, writer=0)
    return None


if gdb:

    class Locks(gdb.Command):
        """Show what the threads wait for, and which threads hold it."""

        def __init__(self):
            super().__init__("cohort-locks", gdb.COMMAND_STATUS)

        def invoke(self, argument, from_tty):
            if not debugger.has_process():
                raise gdb.GdbError(NO_PROCESS)
            for line in locks():
                gdb.write(line + "\n")

    class Printer:
        """Shows how an object is held in place of its bytes."""

        def __init__(self, value, state):
            self.value, self.state = value, state

        def to_string(self):
            return self.state(int(self.value.address))

    def printer(value):
        """A printer for the C library's locks under Cohort, and for Cohort's own."""
        state = state_of(str(value.type.unqualified()))
        return Printer(value, state) if state and value.address is not None else None

    Locks()
    gdb.pretty_printers.append(printer)
else:

    def cohort_locks(_debugger, _command, result, _names):
        """Show what the threads wait for, and which threads hold it."""
        if not debugger.has_process():
            result.SetError(NO_PROCESS)
            return
        for line in locks():
            result.AppendMessage(line)

    def summary(value, _names):
        """How an object is held."""
        state, at = state_of(value.GetType().GetUnqualifiedType().GetName()), value.GetLoadAddress()
        return state(at) if state else ""

    def __lldb_init_module(starting, _names):
        here = __name__
        starting.HandleCommand("command script add -f %s.cohort_locks cohort-locks" % here)
        types = " ".join(("pthread_mutex_t", "pthread_rwlock_t") + MUTEXES + RWLOCKS)
        starting.HandleCommand("type summary add -F %s.summary %s" % (here, types))
