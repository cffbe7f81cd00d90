"""Thresholds expire: a live decider warns once and still decides, and `swap` rejects expired thresholds."""

import sys
import threading
import time
import warnings
from datetime import UTC, datetime, timedelta

import pytest

import gstar_fast as gf

PAST = "2001-02-03T04:05:06Z"
DECIDING = {
    "one": lambda live: live.one(0.5, "F"),
    "one_with_version": lambda live: live.one_with_version(0.5, "F"),
    "call": lambda live: live([0.5], ["F"]),
    "call with options": lambda live: live([0.5], ["F"], with_version=True),
    "margin": lambda live: live.margin([0.5], ["F"]),
}


def decider(expires=None):
    return gf.Decider({"F": 0.25, "M": 0.75}, expires=expires)


def soon(seconds):
    return datetime.now(UTC) + timedelta(seconds=seconds)


def test_without_an_expiry_there_is_no_warning(backend):
    live = gf.LiveDecider(decider())
    assert live.expired is False
    assert live.seconds_left is None
    assert live.one(0.5, "F") is True


def test_before_the_expiry(backend):
    live = gf.LiveDecider(decider(soon(1000)))
    assert live.expired is False
    assert 900 < live.seconds_left <= 1000
    assert [bool(decide(live)) for decide in list(DECIDING.values())[:3]] == [True] * 3


@pytest.mark.parametrize("way", DECIDING)
def test_deciding_after_the_expiry_answers_and_warns_once_in_the_name_of_the_caller(backend, way):
    live, decide = gf.LiveDecider(decider(PAST)), DECIDING[way]
    assert live.expired is True
    assert live.seconds_left == 0
    with pytest.warns(gf.errors.ExpiredWarning, match="expired on 2001-02-03T04:05:06Z") as told:
        answer = decide(live)
    assert [(one.filename, one.category) for one in told] == [(__file__, gf.errors.ExpiredWarning)]
    assert told[0].message.code == "decides_expired"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for again in DECIDING.values():
            again(live)
        assert repr(decide(live)) == repr(answer)


def test_a_warning_that_is_an_error_is_raised_once(backend):
    live = gf.LiveDecider(decider(PAST))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gf.errors.ExpiredWarning):
            live.one(0.5, "F")
        assert live.one(0.5, "F") is True


def test_reading_does_not_warn(backend):
    live = gf.LiveDecider(decider(PAST))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (live.version, live.expired, live.decider.expires.year) == (1, True, 2001)
        repr(live)


def test_a_swap_rejects_expired_thresholds_and_changes_nothing(backend):
    live = gf.LiveDecider(decider())
    late = gf.Decider({"F": 0.75, "M": 0.75}, expires=PAST)
    with pytest.raises(ValueError, match="these thresholds expired on 2001-02-03T04:05:06Z") as error:
        live.swap(late)
    assert error.value.code == "swap_expired"
    assert (live.version, live.decider, live.one(0.5, "F")) == (1, decider(), True)


@pytest.mark.slow
def test_each_set_of_thresholds_has_its_own_expiry(backend):
    """They expire while they are in use; a swap takes other ones, which warn again when they expire."""
    live = gf.LiveDecider(decider(PAST))
    with pytest.warns(gf.errors.ExpiredWarning):
        live.one(0.5, "F")
    for seconds in (1, 10, 100):  # a busy machine may need longer for these two lines
        version = live.swap(decider(soon(seconds)))
        with warnings.catch_warnings(record=True) as late:
            warnings.simplefilter("always")
            live.one(0.5, "F")
        if not late:
            break
    assert not late
    while not live.expired:
        time.sleep(live.seconds_left)
    time.sleep(0.05)  # the clock that is read for each row may lag by a tick
    with pytest.warns(gf.errors.ExpiredWarning):
        assert live.one_with_version(0.5, "F") == (True, version)
    live.swap(decider())
    assert (live.expired, live.seconds_left) == (False, None)


def test_one_of_many_threads_warns(backend):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            live, start = gf.LiveDecider(decider(PAST)), threading.Barrier(8)

            def decide(live=live, start=start):
                start.wait()
                for _ in range(100):
                    assert live.one(0.5, "F") is True

            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                threads = [threading.Thread(target=decide) for _ in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            assert [one.category for one in told] == [gf.errors.ExpiredWarning]
    finally:
        sys.setswitchinterval(interval)


def test_one_with_version_takes_what_one_takes(backend):
    live = gf.LiveDecider(gf.Decider({"F": 0.25, "M": 0.75}, unknown=0.5))
    for version in (1, 2):
        for arguments in ((0.5, "F"), (0.5, "M"), (0.75, "M"), (1, "F"), (0.6, "X")):
            assert live.one_with_version(*arguments) == (live.one(*arguments), version)
        assert live.one_with_version(score=0.5, group="F") == (True, version)
        with pytest.raises(ValueError, match="NaN"):
            live.one_with_version(float("nan"), "F")
        if version == 1:
            live.swap(live.decider)
    for _ in range(300):
        live.swap(live.decider)
    assert live.one_with_version(0.5, "F") == (True, 302)
