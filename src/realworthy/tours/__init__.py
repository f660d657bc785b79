"""The tour: the whole loop on one robot whose truth is hidden, ending on one page.

Here live the robots that it can be taken with, how their hidden truths are drawn, and
the story from the first recording to the last trial. Every step is a public command of
its own room; here do not live methods. May import everything but `cli`.
"""

from realworthy.tours.robots import ROBOTS, TourRobot, find_robot
from realworthy.tours.run import tour, try_way
from realworthy.tours.tour import Tour, TourSettings, TourVerdict, quick_tour

__all__ = [
    "ROBOTS",
    "Tour",
    "TourRobot",
    "TourSettings",
    "TourVerdict",
    "find_robot",
    "quick_tour",
    "tour",
    "try_way",
]
