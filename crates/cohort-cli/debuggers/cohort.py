"""Cohort's locks in GDB: of a running process, and of a core dump, on x86-64.

    (gdb) source PREFIX/share/cohort/cohort.py
    (gdb) cohort-locks                  what the threads wait for, and which threads hold it
    (gdb) print some_mutex              "held by thread 4711", "held", "free"

A plain mutex does not note its holder; one that is recursive or checks errors does, and a rwlock
notes its writer.  Waiters in the queue of another lock than the default are not found.  A test
compares the numbers below with those of the library.
"""

import struct

import gdb

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
# A condition, and a thread's node in its queue.
CONDITION_FIRST = 8
WAITER_WAITING = 0
WAITER_CLASS = 1
WAITER_ADOPTED = 8
WAITER_AT = 16
WAITER_MUTEX = 24
# A thread's own record.
THREAD_ID = 4

FUTEX = 202
FUTEX_WAIT = 0
FUTEX_WAIT_BITSET = 9


def read(at, form):
    """A number of that form in the process's memory; 0 where nothing is mapped."""
    try:
        memory = gdb.selected_inferior().read_memory(at, struct.calcsize(form))
        return struct.unpack(form, memory)[0]
    except gdb.error:
        return 0


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
    """The thread of the record at the address that is noted there."""
    record = pointer(at)
    return word(record + THREAD_ID) if record else 0


def held(held, thread):
    if not held:
        return "free"
    return "held by thread %d" % thread if thread else "held"


def mutex(at):
    """How a mutex is held, in words."""
    notes = word(at + MUTEX_KIND) & 3 in (1, 2)
    return held(word(at) & MUTEX_HELD, noted(at + MUTEX_OWNER) if notes else 0)


def rwlock(at):
    """How a rwlock is held, in words."""
    now = word(at + RWLOCK_WORD)
    readers = now & RWLOCK_READERS
    if readers and not now & RWLOCK_WRITTEN:
        return "held by %d reader%s" % (readers, "" if readers == 1 else "s")
    return held(now & RWLOCK_WRITTEN, noted(at + RWLOCK_WRITER))


STATES = {"mutex": mutex, "rwlock": rwlock}


def variable(at):
    """The name at an address, if it has one."""
    said = gdb.execute("info symbol %d" % at, to_string=True).strip()
    return "" if said.startswith("No symbol") else said.split(" in section ")[0]


def sleeps():
    """The threads that sleep at a word, with what they sleep for."""
    before = gdb.selected_thread()
    try:
        for thread in reversed(gdb.selected_inferior().threads()):
            thread.switch()
            register = lambda name: int(gdb.parse_and_eval("(unsigned long)$" + name))
            try:
                call, at, kind, seen, classes = map(
                    register, ("orig_rax", "rdi", "rsi", "rdx", "r9")
                )
            except gdb.error:
                continue
            if call == FUTEX and kind & 0x7F in (FUTEX_WAIT, FUTEX_WAIT_BITSET):
                found = object_of(at, seen & 0xFFFFFFFF, classes & 0xFFFFFFFF)
                yield thread.ptid[1] or thread.ptid[0], thread.name or "", found
    finally:
        if before is not None:
            before.switch()


class Locks(gdb.Command):
    """Show what the threads wait for, and which threads hold it."""

    def __init__(self):
        super().__init__("cohort-locks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("no process and no core dump: attach to one first")
        waiting = {}
        for thread, name, found in sleeps():
            waiting.setdefault(found, []).append(("%d %s" % (thread, name)).strip())
        for (kind, at), threads in sorted(waiting.items()):
            state = STATES[kind](at) if kind in STATES else ""
            parts = [kind, "%#x" % at, variable(at), state]
            gdb.write("  ".join(part for part in parts if part))
            gdb.write("\n    waiting: %s\n" % ", ".join(threads))
        if not waiting:
            gdb.write("no thread sleeps for a lock or a condition\n")


class Printer:
    """Shows how an object is held in place of its bytes."""

    def __init__(self, value, state):
        self.value, self.state = value, state

    def to_string(self):
        return self.state(int(self.value.address))


def is_served():
    """Whether the C library's objects are ours in this process."""
    return any("libcohort_" in (file.filename or "") for file in gdb.objfiles())


def printer(value):
    """A printer for the C library's locks under Cohort, and for Cohort's own."""
    name = str(value.type.unqualified())
    if value.address is None:
        return None
    if name in ("pthread_mutex_t", "pthread_rwlock_t") and is_served():
        return Printer(value, mutex if "mutex" in name else rwlock)
    if name == "cohort::numa::futex_hmcs::FutexHmcs" or name == "cohort::basic::futex::Futex":
        return Printer(value, lambda at: held(word(at) & MUTEX_HELD, 0))
    return None


Locks()
gdb.pretty_printers.append(printer)
