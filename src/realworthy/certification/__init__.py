"""Certification: a roadworthiness test for any policy, whoever trained it.

Here live the check of a policy's contract against twin and task, the cells in which it
is played (other numerics, other engines, faults of the link, edges of e), the search
for the worst e, the statistics behind a verdict, and the certificate: what was shown,
within which limits it holds, and every failure with what repeats it.

Here do not live the pages (`reports`) and what may reach a motor (`deployment`). May
import `learning` and what `learning` may.
"""
