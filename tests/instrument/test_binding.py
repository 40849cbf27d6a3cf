"""Binding: the hook sits on the class that loads and on nothing else (stand-in workers, see ``standin``)."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

from pathtrace.instrument.binding import CannotBind, bind, entry_of, worker_of
from pathtrace.instrument.hook import Hook
from pathtrace.instrument.policy import Observe
from pathtrace.tests.instrument.standin import fresh_workers

ENTRY = "forward_batch_generation"


@pytest.fixture
def workers() -> Iterator[Any]:
    module = fresh_workers()
    yield module
    del sys.modules[module.__name__]


def hook_for(worker: Any) -> Hook:
    return Hook(worker, Observe(), lambda mode, size: None, lambda problem: None)


def scheduler_of(worker: Any, **attributes: Any) -> Any:
    return types.SimpleNamespace(draft_worker=worker, model_worker=worker, tp_worker=None, **attributes)


def decode(workers: Any, size: int = 1) -> Any:
    return workers.Batch(workers.ForwardMode.DECODE, size)


def steps(hook: Hook) -> int:
    return sum(tally.steps for tally in hook.tallies.values())


class TestTheWorkerOfAScheduler:
    def test_is_the_draft_worker_where_the_tree_has_no_model_worker(self) -> None:
        assert worker_of(types.SimpleNamespace(tp_worker="plain", draft_worker="draft")) == "draft"

    def test_is_none_without_a_draft_worker_although_there_is_a_model_worker(self) -> None:
        assert worker_of(types.SimpleNamespace(tp_worker="t", draft_worker=None, model_worker="t")) is None

    def test_is_the_model_worker_that_takes_the_steps(self) -> None:
        assert worker_of(types.SimpleNamespace(tp_worker="t", draft_worker="d", model_worker="m")) == "m"

    def test_is_the_draft_worker_where_the_model_worker_is_the_plain_one(self) -> None:
        assert worker_of(types.SimpleNamespace(tp_worker="t", draft_worker="d", model_worker="t")) == "d"


@pytest.mark.parametrize(
    ("cls", "entry"),
    [
        ("EAGLEWorker", "forward_batch_generation"),
        ("OldEAGLEWorker", "forward_batch_speculative_generation"),
        ("StandaloneWorkerV2", "forward_batch_generation"),
    ],
)
def test_the_entry_method(workers: Any, cls: str, entry: str) -> None:
    assert entry_of(getattr(workers, cls)()) == entry


def test_a_worker_without_one_is_refused_with_the_names_that_were_looked_for() -> None:
    with pytest.raises(CannotBind, match=r"^object has none of the methods forward_batch_spec\w+, forward_batch_gen"):
        entry_of(object())


def test_a_step_is_counted_and_returns_what_it_returned(workers: Any) -> None:
    worker = workers.EAGLEWorker()
    hook = hook_for(worker)
    bind(hook, scheduler_of(worker))
    assert worker.forward_batch_generation(decode(workers, 3)) == ("v1", 3)
    assert worker.forward_batch_generation(batch=decode(workers, 2)) == ("v1", 2)
    assert (hook.tallies["decode"].steps, hook.tallies["decode"].requests, hook.tallies["decode"].largest) == (2, 5, 3)


class TestAnInheritedEntryMethod:
    def test_is_wrapped_on_the_class_that_loads_alone(self, workers: Any) -> None:
        base_method = vars(workers.EAGLEWorkerV2)[ENTRY]
        worker, sibling, base = workers.StandaloneWorkerV2(), workers.MultiLayerEagleWorkerV2(), workers.EAGLEWorkerV2()
        hook = hook_for(worker)
        bound = bind(hook, scheduler_of(worker))
        assert bound.inherited_from == "EAGLEWorkerV2"
        assert vars(workers.EAGLEWorkerV2)[ENTRY] is base_method
        assert ENTRY not in vars(workers.MultiLayerEagleWorkerV2)
        for other in (sibling, base):
            assert other.forward_batch_generation(decode(workers)) == ("v2", 1)
        assert steps(hook) == 0
        assert worker.forward_batch_generation(decode(workers)) == ("v2", 1)
        assert steps(hook) == 1

    def test_follows_the_base_class_when_that_is_changed_later(
        self, workers: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker = workers.StandaloneWorkerV2()
        hook = hook_for(worker)
        bind(hook, scheduler_of(worker))
        monkeypatch.setattr(workers.EAGLEWorkerV2, ENTRY, lambda self, batch: "patched later")
        assert worker.forward_batch_generation(decode(workers)) == "patched later"
        assert steps(hook) == 1

    def test_of_two_levels_is_found(self, workers: Any) -> None:
        class Own(workers.StandaloneWorkerV2):  # type: ignore[misc, name-defined]
            pass

        worker = Own()
        hook = hook_for(worker)
        assert bind(hook, scheduler_of(worker)).inherited_from == "EAGLEWorkerV2"
        assert worker.forward_batch_generation(decode(workers)) == ("v2", 1)
        assert steps(hook) == 1


def test_the_plain_worker_that_an_older_worker_inherits_from_stays_as_it_is(workers: Any) -> None:
    worker = workers.EAGLEWorker()
    before = dict(vars(workers.TpModelWorker))
    bind(hook_for(worker), scheduler_of(worker))
    assert dict(vars(workers.TpModelWorker)) == before


def test_a_second_instance_of_the_class_that_no_scheduler_calls_is_not_counted(workers: Any) -> None:
    worker, nested = workers.EAGLEWorker(), workers.EAGLEWorker()
    hook = hook_for(worker)
    bind(hook, scheduler_of(worker))
    assert nested.forward_batch_generation(decode(workers)) == ("v1", 1)
    assert steps(hook) == 0


def test_a_second_scheduler_in_the_process_has_its_own_hook_and_no_step_is_counted_twice(workers: Any) -> None:
    first, second = workers.EAGLEWorker(), workers.EAGLEWorker()
    hooks = [hook_for(first), hook_for(second)]
    for hook in hooks:
        bind(hook, scheduler_of(hook.worker))
    first.forward_batch_generation(decode(workers))
    second.forward_batch_generation(decode(workers))
    second.forward_batch_generation(decode(workers))
    assert [steps(hook) for hook in hooks] == [1, 2]


class TestTheWrapperLooksLikeTheMethod:
    @pytest.mark.parametrize("name", ["EAGLEWorkerV2", "StandaloneWorkerV2"])
    def test_to_inspect(self, workers: Any, name: str) -> None:
        cls = getattr(workers, name)
        before = inspect.signature(cls.forward_batch_generation)
        worker = cls()
        bind(hook_for(worker), scheduler_of(worker))
        assert str(before) == "(self, model_worker_batch, on_publish=None)"
        assert inspect.signature(cls.forward_batch_generation) == before
        assert list(inspect.signature(worker.forward_batch_generation).parameters) == [
            "model_worker_batch",
            "on_publish",
        ]
        assert inspect.isfunction(cls.forward_batch_generation)
        assert inspect.ismethod(worker.forward_batch_generation)
        assert cls.forward_batch_generation.__name__ == ENTRY
        assert cls.forward_batch_generation.__doc__ == "Takes one step."

    def test_in_attributes_that_were_set_on_it(self, workers: Any) -> None:
        workers.EAGLEWorkerV2.forward_batch_generation.marked = "by a plugin"
        worker = workers.EAGLEWorkerV2()
        bind(hook_for(worker), scheduler_of(worker))
        assert worker.forward_batch_generation.marked == "by a plugin"

    @pytest.mark.parametrize("name", ["EAGLEWorkerV2", "StandaloneWorkerV2"])
    def test_to_pickle_and_copy(self, workers: Any, name: str) -> None:
        cls = getattr(workers, name)
        worker = cls()
        bind(hook_for(worker), scheduler_of(worker))
        assert pickle.loads(pickle.dumps(cls.forward_batch_generation)) is cls.forward_batch_generation
        method = pickle.loads(pickle.dumps(worker.forward_batch_generation))
        assert method(decode(workers)) == ("v2", 1)
        assert type(copy.deepcopy(worker)) is cls
        assert pickle.loads(pickle.dumps(worker)).forward_batch_generation(decode(workers)) == ("v2", 1)

    def test_and_passes_keywords_of_any_name(self, workers: Any) -> None:
        class Own(workers.EAGLEWorkerV2):  # type: ignore[misc, name-defined]
            def forward_batch_generation(self, batch: Any, **kwargs: Any) -> dict[str, Any]:
                return kwargs

        worker = Own()
        bind(hook_for(worker), scheduler_of(worker))
        given = {"worker": 1, "args": 2, "grammar_barrier": None}
        assert worker.forward_batch_generation(decode(workers), **given) == given


class TestReferencesTakenBefore:
    def test_on_the_scheduler_and_on_its_parts_lead_to_the_hook(self, workers: Any) -> None:
        worker = workers.EAGLEWorkerV2()
        part_type = type("Part", (), {"__module__": "sglang.srt.managers.part"})
        part = part_type()
        part.run = worker.forward_batch_generation
        scheduler = scheduler_of(
            worker, run=worker.forward_batch_generation, part=part, later=functools.partial(part.run, on_publish=len)
        )
        hook = hook_for(worker)
        bound = bind(hook, scheduler)
        assert sorted(bound.rebound) == ["scheduler.later", "scheduler.part.run", "scheduler.run"]
        for step in (scheduler.run, scheduler.later, part.run):
            assert step(decode(workers)) == ("v2", 1)
        assert steps(hook) == 3

    def test_in_a_module_lead_to_the_hook_and_still_serve_siblings(
        self, workers: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module: Any = types.ModuleType("standin_importer")
        module.step = workers.EAGLEWorkerV2.forward_batch_generation
        monkeypatch.setitem(sys.modules, "standin_importer", module)
        worker, sibling = workers.StandaloneWorkerV2(), workers.MultiLayerEagleWorkerV2()
        hook = hook_for(worker)
        assert bind(hook, scheduler_of(worker)).rebound == ("standin_importer.step",)
        assert module.step(sibling, decode(workers)) == ("v2", 1)
        assert steps(hook) == 0
        assert module.step(worker, decode(workers)) == ("v2", 1)
        assert steps(hook) == 1

    def test_of_another_worker_stay(self, workers: Any) -> None:
        worker, other = workers.EAGLEWorkerV2(), workers.EAGLEWorkerV2()
        scheduler = scheduler_of(worker, run=other.forward_batch_generation)
        bind(hook_for(worker), scheduler)
        assert scheduler.run.__self__ is other


class TestUnusualWorkers:
    def test_an_entry_method_of_the_instance_is_wrapped_there(self, workers: Any) -> None:
        worker = workers.EAGLEWorkerV2()
        worker.forward_batch_generation = lambda batch: "replaced on the instance"
        hook = hook_for(worker)
        bind(hook, scheduler_of(worker))
        assert worker.forward_batch_generation(decode(workers)) == "replaced on the instance"
        assert steps(hook) == 1

    def test_a_proxy_is_hooked_and_what_it_stands_for_is_not(self, workers: Any) -> None:
        class Proxy:
            def __init__(self, inner: Any) -> None:
                self.inner = inner

            def __getattr__(self, name: str) -> Any:
                return getattr(self.inner, name)

        inner = workers.EAGLEWorkerV2()
        proxy = Proxy(inner)
        hook = hook_for(proxy)
        bind(hook, scheduler_of(proxy))
        assert proxy.forward_batch_generation(decode(workers)) == ("v2", 1)
        inner.forward_batch_generation(decode(workers))
        assert steps(hook) == 1

    def test_a_static_or_decorated_entry_method_works(self, workers: Any) -> None:
        class Own:
            @staticmethod
            def forward_batch_generation(batch: Any) -> str:
                return "static"

        worker = Own()
        hook = hook_for(worker)
        bind(hook, scheduler_of(worker))
        assert worker.forward_batch_generation(decode(workers)) == "static"
        assert steps(hook) == 1

    def test_with_slots(self, workers: Any) -> None:
        class Own(workers.EAGLEWorkerV2):  # type: ignore[misc, name-defined]
            __slots__ = ()

        worker = Own()
        hook = hook_for(worker)
        bind(hook, scheduler_of(worker))
        worker.forward_batch_generation(decode(workers))
        assert steps(hook) == 1

    def test_a_class_that_cannot_be_changed_is_refused_and_works_on(self, workers: Any) -> None:
        class Frozen(type):
            def __setattr__(cls, name: str, value: Any) -> None:
                raise TypeError("frozen")

        class Own(workers.EAGLEWorkerV2, metaclass=Frozen):  # type: ignore[misc, name-defined]
            pass

        worker = Own()
        with pytest.raises(CannotBind, match="^Own does not let itself be changed: frozen$"):
            bind(hook_for(worker), scheduler_of(worker))
        assert worker.forward_batch_generation(decode(workers)) == ("v2", 1)


def test_threads_that_bind_at_once_leave_one_wrapper(workers: Any) -> None:
    instances = [workers.EAGLEWorker() for _ in range(8)]
    hooks = [hook_for(worker) for worker in instances]
    threads = [threading.Thread(target=bind, args=(hook, scheduler_of(hook.worker))) for hook in hooks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in instances:
        worker.forward_batch_generation(decode(workers))
    assert [steps(hook) for hook in hooks] == [1] * 8
    assert not hasattr(vars(workers.EAGLEWorker)[ENTRY].__wrapped__, "__wrapped__")
