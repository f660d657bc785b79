import torch
from torch import nn

from realworthy.adaptation.conditioned import AdaptProblem, train_teacher
from realworthy.adaptation.student import (
    ConvolutionOverTime,
    LayersOverTime,
    StudentNetwork,
    build_student,
)


def reach_of(module: ConvolutionOverTime, steps: int, width: int) -> list[int]:
    """Instants on which the first place of the first convolution depends."""
    frames = torch.randn(1, steps, width, requires_grad=True)
    channels = module.embed(frames).transpose(1, 2)
    first = module.convolve[0](channels)[0, :, 0]  # pyright: ignore
    (gradient,) = torch.autograd.grad(first.square().sum(), frames)
    return gradient[0].abs().sum(1).nonzero()[:, 0].tolist()


def test_convolutions_run_over_time():
    torch.manual_seed(0)
    module = ConvolutionOverTime(50, 4, 8)
    assert reach_of(module, 50, 4) == [*range(8)]  # kernel 8 of RMA
    lengths = [50]
    for layer in module.convolve:
        if isinstance(layer, nn.Conv1d):
            (kernel,), (stride,) = layer.kernel_size, layer.stride
            lengths.append((lengths[-1] - kernel) // int(stride) + 1)
    assert lengths == [50, 11, 7, 3]


def test_a_reshape_in_place_of_the_transpose_mixes_instants_with_channels():
    """The trap: the same shape, and the first place sees instants of all times."""
    torch.manual_seed(0)
    module = ConvolutionOverTime(50, 4, 8)
    frames = torch.randn(1, 50, 4, requires_grad=True)
    wrong = module.embed(frames).reshape(1, 32, 50)
    first = module.convolve[0](wrong)[0, :, 0]
    (gradient,) = torch.autograd.grad(first.square().sum(), frames)
    seen = gradient[0].abs().sum(1).nonzero()[:, 0].tolist()
    assert max(seen) > 40


def test_short_histories_have_convolutions_that_fit():
    for steps in (1, 5, 9, 12, 25, 60):
        for kind in (ConvolutionOverTime, LayersOverTime):
            assert kind(steps, 3, 2)(torch.randn(7, steps, 3)).shape == (7, 2)


def test_a_latent_is_held_between_two_inferences(problem: AdaptProblem):
    teacher = train_teacher(problem, latent_width=3)
    infer = LayersOverTime(10, 3, 3).eval()
    actor = build_student(teacher, infer, latent_width=3, every=4)
    network = actor.network
    assert isinstance(network, StudentNetwork)
    hidden, held = network.initial_hidden(5), []
    seen = torch.randn(9, 5, problem.history.width)
    for x in seen:
        _, hidden = network(x, hidden)
        held.append(hidden[0, :, :3])
    for k, z in enumerate(held):
        torch.testing.assert_close(z, network.infer_latent(seen[k // 4 * 4]))


def test_what_is_inferred_stays_within_what_training_knew(problem: AdaptProblem):
    teacher = train_teacher(problem, latent_width=None)
    limit = torch.tensor([[-0.1, -0.2], [0.1, 0.3]])
    infer = LayersOverTime(10, 3, 2).eval()
    student = build_student(teacher, infer, latent_width=2, limit=limit)
    network = student.network
    assert isinstance(network, StudentNetwork)
    z = network.infer_latent(1e3 * torch.randn(50, problem.history.width))
    assert (z >= limit[0]).all()
    assert (z <= limit[1]).all()
