"""External kernels: code that the compiler did not make, put in the place of ops that it would compile.

A kernel says which problems it computes and makes code for one of them (`kernel.Kernel`); a site is where
a program has such a problem (`site.find_sites`); `spec.build_kernel_spec` turns pairs of both into the IR
that the compiler's preprocessing applies. `alone` puts a kernel into the harness of a dispatch, where it is
timed and checked like any candidate; `contest` and `bench` do that for a problem and for a program.
"""
