"""Searches for the e that makes residuals smallest, and how well it is known there.

Here live derivatives by differences in one batch (`differentiate`), the problem around
one point (`linearise`), Gauss–Newton with Marquardt's damping (`minimise`), covariance
when residuals last, `fit_least_squares`, and searches over whole candidates. All take
any `problem.SumOfSquares`; what returns a `Fit` takes a `problem.Problem`.

Here does not live what is fitted to what (`calibration`), nor whether it holds on other
recordings (`validation`). May import `problem`.
"""
