"""What is known of ops while they do not change."""

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, remembered, unchanged


def test_what_is_asked_of_an_op_is_found_out_once_while_nothing_changes():
    module = ir.Module.parse("func.func private @f()\nfunc.func private @g()", new_context())
    first, second = (each.operation for each in module.body.operations)
    asked = []

    @remembered
    def name_of(op):
        asked.append(op)
        return str(op.attributes["sym_name"])

    with unchanged():
        assert [name_of(first), name_of(second), name_of(first)] == ['"f"', '"g"', '"f"']
    assert asked == [first, second]
    first.attributes["sym_name"] = ir.StringAttr.get("h", module.context)
    assert name_of(first) == '"h"'
    with unchanged():
        assert name_of(first) == '"h"'
