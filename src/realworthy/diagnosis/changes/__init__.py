"""What changed between recordings of one machine from before and from now.

Every recording becomes a few numbers: e fitted to it alone where a twin can replay it
(`estimates`), else what it shows without a model (`signs`). How far these scatter among
the recordings from before says what is no change (`scatter`); what lies beyond is put
into words (`words`).
"""

from realworthy.diagnosis.changes.find import TooFewRecordings, find_changes

__all__ = ["TooFewRecordings", "find_changes"]
