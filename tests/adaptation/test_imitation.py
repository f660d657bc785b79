import torch
from torch import Tensor, nn

from realworthy.adaptation.conditioned import AdaptProblem
from realworthy.adaptation.imitation import ImitationPlan, imitate
from realworthy.adaptation.probe import probe


def learn(problem: AdaptProblem, *, clones: bool) -> tuple[Tensor, list[str], float]:
    """Errors by round, who led each step, and the imitator's weight on height."""
    torch.manual_seed(0)
    worlds, led = problem.build_worlds(16, 0), list[str]()
    present = problem.history.present
    imitator = nn.Linear(2, 1)

    def see(seen: dict[str, Tensor]) -> Tensor:
        return seen["policy"][:, present]

    def lead(seen: dict[str, Tensor]) -> Tensor:
        led.append("leader")
        return answer(seen)

    def answer(seen: dict[str, Tensor]) -> Tensor:
        return -see(seen) @ torch.tensor([[0.2], [0.2]]) + 0.4

    errors = imitate(
        imitator,
        worlds,
        ImitationPlan(step_count=3200, rounds=4, passes=60, clones=clones),
        lead=lead,
        follow=lambda seen: imitator(see(seen)),
        see=see,
        answer=answer,
    )
    return errors, led, float(imitator.weight.detach()[0, 0])


def test_an_imitator_learns_the_answers_in_its_own_states(problem: AdaptProblem):
    errors, _, weight = learn(problem, clones=False)
    assert errors[-1] < 0.1 * errors[0]
    assert abs(weight + 0.2) < 0.1


def test_only_the_first_round_is_led_unless_it_clones():
    plan = ImitationPlan(step_count=100)
    assert [plan.lead_share(i) for i in range(3)] == [1.0, 0.0, 0.0]
    plan = ImitationPlan(step_count=100, clones=True)
    assert [plan.lead_share(i) for i in range(3)] == [1.0, 1.0, 1.0]


def test_a_probe_finds_what_was_planted_and_nothing_in_shuffled_states():
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(400, 6, generator=generator).double().numpy()
    noise = torch.randn(400, generator=generator).double().numpy()
    e = states[:, :2].copy()
    e[:, 1] = noise  # which the states do not hold
    found = probe(states, e, ("held", "absent"))
    assert found["held"] > 0.99
    assert found["absent"] < 0.1
    shuffled = probe(states[::-1].copy(), e, ("held", "absent"))
    assert max(shuffled.values()) < 0.1
