"""Certification: how well will this policy do on a robot that nobody has measured yet?

Here live `certify.py`, the command; `subject.py`, the policy under test; and, each with
its own ten lines, `contract` and `foreign` (is it wired right), `suite` (what it is
tested on), `rollouts` (episodes), `limits` (ranges of e, worst case), `examination`
(parts of a suite and the verdict) and `certificate` (the result as a file).

Here do not live the pages (`reports`) and what may reach a motor (`deployment`). May
import `learning` and what `learning` may.
"""
