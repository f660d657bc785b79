"""Identifiability of parameters from recordings, before any fit or around one.

Here live verdicts per parameter (`check_identifiability`), and combinations that are
identifiable where single parameters are not (`find_base`).

Here do not live choices by these verdicts (`calibration`). May import `solver` and
`problem`.
"""
