"""Operations generated, verified and timed: alone, over configurations, and beside other libraries.

An operation is plain data that knows its types, its work, its IR and how it is computed from a few primitives
(`primitives`). A back end implements the primitives, or compiles the IR. What came of an operation on a back
end is a row (`row`), and everything after that, tables, pages, histories, is made of rows (docs/suite.md).

May import everything but `cli`.
"""
