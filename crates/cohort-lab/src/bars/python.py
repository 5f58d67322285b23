"""What threads of one interpreter do to each other: prints what it cost."""

import argparse
import concurrent.futures
import json
import queue
import resource
import threading
import time


def consume(count):
    """One thread fills a queue, four empty it."""
    numbers, lock, total = queue.Queue(), threading.Lock(), 0

    def work():
        nonlocal total
        while (number := numbers.get()) is not None:
            with lock:
                total += number

    consumers = [threading.Thread(target=work) for _ in range(4)]
    for consumer in consumers:
        consumer.start()
    for _ in range(count):
        numbers.put(1)
    for _ in consumers:
        numbers.put(None)
    for consumer in consumers:
        consumer.join()
    return total


def pool(count):
    """Four threads of a pool do small tasks."""
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        return sum(threads.map(lambda number: number, [1] * count))


def condition(count):
    """Two threads take turns by a condition."""
    changed, turns = threading.Condition(), 0

    def play(parity):
        nonlocal turns
        with changed:
            while turns < count:
                if turns % 2 == parity:
                    turns += 1
                    changed.notify()
                else:
                    changed.wait()

    players = [threading.Thread(target=play, args=(parity,)) for parity in (0, 1)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    return turns


PATTERNS = {"queue": consume, "pool": pool, "condition": condition}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", choices=PATTERNS)
    parser.add_argument("count", type=int, help="how many steps")
    options = parser.parse_args()

    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    done = PATTERNS[options.pattern](options.count)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    assert done == options.count, f"{done} steps of {options.count} were done"
    print(json.dumps({
        "operations": done,
        "seconds": seconds,
        "per_second": done / seconds,
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "switches": after.ru_nvcsw - before.ru_nvcsw,
    }))


main()
