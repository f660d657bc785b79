"""The tour: the whole loop on one robot whose truth is hidden, ending on one page.

Here live the robots that it can be taken with, how their hidden truths are drawn, and
the story from the first recording to the last trial. Every step is a public command of
its own room; here do not live methods. May import everything but `cli`.
"""

from realworthy.tour.robots import ROBOTS, TourRobot
from realworthy.tour.run import take_tour, try_way
from realworthy.tour.settings import TourSettings, quick_tour
from realworthy.tour.tour import Tour, TourVerdict

__all__ = [
    "ROBOTS",
    "Tour",
    "TourRobot",
    "TourSettings",
    "TourVerdict",
    "quick_tour",
    "take_tour",
    "try_way",
]
