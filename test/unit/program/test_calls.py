"""Counting calls: sites, loops of both kinds, calls of calls."""

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.program.dispatch import CallCount
from iree_tuner.program.runtime_values import count_calls

# Ops of the compiler's own dialects are stood in for by generic ones: only names and symbols count here.
PROGRAM = """
module {
  util.func public @entry(%n: index, %flag: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    util.call @helper() : () -> ()
    scf.for %i = %c0 to %n step %c1 {
      util.call @helper() : () -> ()
    }
    cf.br ^head
  ^head:
    util.call @other() : () -> ()
    cf.cond_br %flag, ^head, ^exit
  ^exit:
    util.return
  }
  util.func private @helper() {
    "stream.cmd.dispatch"() {entry_points = [@exe::@variant::@first]} : () -> ()
    util.return
  }
  util.func private @other() {
    "stream.cmd.dispatch"() {entry_points = [@exe::@variant::@second]} : () -> ()
    util.return
  }
  util.func public @second_entry() {
    util.call @other() : () -> ()
    util.return
  }
  util.func private @nobody() {
    "stream.cmd.dispatch"() {entry_points = [@exe::@variant::@third]} : () -> ()
    util.return
  }
}
"""


@pytest.fixture
def module():
    text = PROGRAM.replace('"stream.cmd.dispatch"', '"test.dispatch"')
    context = new_context()
    context.allow_unregistered_dialects = True
    return ir.Module.parse(text, context)


def test_calls_are_counted_over_entries_and_loops(module, monkeypatch):
    monkeypatch.setattr("iree_tuner.program.runtime_values.DISPATCH", "test.dispatch")
    assert count_calls(module) == {
        "first": CallCount(2, in_loop=True),
        "second": CallCount(2, in_loop=True),
    }
