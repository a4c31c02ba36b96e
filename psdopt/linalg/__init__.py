"""Linear algebra that large arrays meet: operators, extreme eigenvalues, polynomials, tolerances.

Arrays with n or m rows meet only ``@``, elementwise arithmetic, sums and the functions of this
package, so that another array library could take their place here and nowhere else.
"""
