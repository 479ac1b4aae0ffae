"""External kernels: code from outside the compiler, which replaces ops that the compiler would compile.

A kernel states which problems it computes, and makes code for one of them (`kernel.Kernel`). A site is a
part of a program that computes such a problem (`site.find_sites`). `spec.build_kernel_spec` turns pairs of
sites and code into the IR that the compiler's preprocessing applies. `harness` puts a kernel into the harness
of a dispatch, where it is timed and checked like any candidate; `in_program` does that for a program.
"""
