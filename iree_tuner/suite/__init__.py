"""Operations generated, verified and timed: alone, over configurations, and compared with other libraries.

An operation is plain data that knows its types, its work, its IR and how it is computed from a few primitives
(`primitives`). A back end implements the primitives, or compiles the IR. The result of an operation on a back
end is a row (`row`). Tables, pages and histories are made of rows (docs/suite.md).

May import everything; only its `commands` import `cli`.
"""
