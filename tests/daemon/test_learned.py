"""What an engine learns is stored while it works and when it ends, and only where there is something new."""

import threading

from paceline.daemon.learned import Learned
from paceline.engine.acceptance import AcceptanceTable

KEY = ("draft", 8)


class Shelf:
    """Counts what is stored, and lets a test wait for it."""

    def __init__(self):
        self.stored = []
        self.came = threading.Semaphore(0)

    def __call__(self, table):
        self.stored.append(table.to_json())
        self.came.release()


def test_what_is_new_is_stored_while_the_engine_works():
    table, shelf = AcceptanceTable(), Shelf()
    learned = Learned(table, shelf, every=0.001)
    table.observe(KEY, True)
    assert shelf.came.acquire(timeout=20)
    table.observe(KEY, True)
    assert shelf.came.acquire(timeout=20)
    learned.close()
    assert shelf.stored[-1] == table.to_json()


def test_what_is_known_already_is_not_stored_again():
    table, shelf = AcceptanceTable(), Shelf()
    table.observe(KEY, True)
    learned = Learned(table, shelf, every=3600)
    learned.keep()
    assert shelf.stored == []
    table.observe(KEY, False)
    learned.keep()
    learned.keep()
    learned.close()
    assert len(shelf.stored) == 1


def test_the_end_stores_for_the_last_time_and_waits_for_nothing():
    table, shelf = AcceptanceTable(), Shelf()
    learned = Learned(table, shelf, every=3600)
    table.observe(KEY, True)
    learned.close()
    learned.close()
    assert len(shelf.stored) == 1
    assert not any(thread.name == "paceline-learned" for thread in threading.enumerate())


def test_a_table_that_is_being_learned_into_can_be_read():
    """From another thread, as buckets come that there were not before."""
    table, ended = AcceptanceTable(), threading.Event()

    def learn():
        for i in range(40_000):
            table.observe((f"kind {i % 3000}", 0), True)
        ended.set()

    thread = threading.Thread(target=learn)
    thread.start()
    while not ended.is_set():
        table.to_json()
    thread.join()
    assert len(table.to_json()) == 3000
