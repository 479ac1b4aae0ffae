"""A root op as one matrix multiplication: which of its loops are batch, m, n and k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.gpu.constraints_draft import Draft, round_up
from iree_tuner.space.gpu.instructions import divides

Group = tuple[int, ...]


@dataclass(frozen=True)
class MatrixProblem:
    """The problem that a lowering config for matrix instructions tiles."""

    loops: tuple[int, ...]  # sizes of the loops that the config's lists go by
    batch: Group
    m: Group
    n: Group
    k: Group
    types: tuple[ElementType, ElementType, ElementType]  # element types of left, right and result
    left: Group  # `left`, `right`: the loops that walk the operand's dimensions
    right: Group
    # of a convolution that is gathered into a matrix multiplication (IGEMM), the loops of m or n that walk
    # images and their pixels
    pixels: Group = ()
    images: Group = ()  # the ones of them that walk images
    # of one left operand that is multiplied by several right ones in one op, the loops that walk each of
    # those after the first; each has a result of its own
    others: tuple[Group, ...] = ()

    @property
    def igemm(self) -> bool:
        return bool(self.pixels)

    @property
    def inner(self) -> tuple[int, int, int]:
        """Sizes of the innermost m, n and k loop, which are cut into instructions."""
        return self.loops[self.m[-1]], self.loops[self.n[-1]], self.loops[self.k[-1]]

    @property
    def rows(self) -> int:
        return math.prod(self.loops[loop] for loop in self.m)

    @property
    def columns(self) -> int:
        return math.prod(self.loops[loop] for loop in self.n)


def contraction_problem(workload: Workload) -> MatrixProblem | None:
    """A contraction as it is; None if it has nothing to tile along m or n."""
    batch, m, n, k = (workload.role(name) for name in ("batch", "m", "n", "k"))
    if not (m and n and k):
        return None
    left, right = workload.maps[0].loops, workload.maps[1].loops
    types = (workload.types[0], workload.types[1], workload.types[-1])
    return MatrixProblem(workload.loops, batch, m, n, k, types, left, right)


def fused_problem(workload: Workload) -> MatrixProblem | None:
    """Products of one operand with several, in one op; None for any other op.

    isaHorizontallyFusedContraction (LinalgExt/Utils/Utils.cpp): operands are the left one, the right ones,
    and a result for each of these. Loops are the first product's.
    """
    products = (len(workload.maps) - 1) // 2
    body = facts_of(workload.dag).body("root")
    if products < 2 or len(workload.maps) != 2 * products + 1 or body is None:
        return None
    if body.products_and_sums != (products, products):
        return None
    left, *rights = (each.loops for each in workload.maps[: products + 1])
    inputs, results = workload.types[1 : products + 1], workload.types[products + 1 :]
    plain = all(each.is_permutation and len(each.loops) < each.rank for each in workload.maps)
    if not plain or len(set(inputs)) > 1 or len(set(results)) > 1:
        return None
    result, reduced = set(workload.maps[products + 1].loops), set(left) & set(rights[0])
    groups = (
        reduced & result, (set(left) - reduced) & result, (set(rights[0]) - reduced) & result,
        reduced - result,
    )  # fmt: skip
    batch, m, n, k = (tuple(sorted(group)) for group in groups)
    if not (m and n and k) or any(set(each) != set(rights[0]) for each in rights):
        return None
    types = (workload.types[0], inputs[0], results[0])
    return MatrixProblem(workload.loops, batch, m, n, k, types, left, rights[0], others=tuple(rights[1:]))


def igemm_problem(workload: Workload) -> MatrixProblem | None:
    """A convolution as the compiler gathers it; None without channels to multiply.

    Reduction loops go into the order of the gathered image, and neighbors that are neighbors in the filter
    too become one loop. The left operand is the filter if the result has channels before pixels
    (getIGEMMGenericConvDetails, LinalgExt/Utils/Utils.cpp).
    """
    channels, image = workload.role("output_channel"), workload.role("output_image")
    if not (channels and image and workload.role("input_channel")):
        return None
    places = workload.reduced
    order = _image_order(workload)
    reduced = [loop for loop in order if loop in places]
    renamed = {loop: places[i] for i, loop in enumerate(reduced)}
    gathered = [renamed.get(loop, loop) for loop in order]
    kernel = [renamed.get(loop, loop) for loop in workload.maps[1].loops]
    sizes = list(workload.loops)
    for loop, place in renamed.items():
        sizes[place] = workload.loops[loop]
    groups = _collapsed(workload, gathered, kernel)
    number = {loop: i for i, group in enumerate(groups) for loop in group}
    output = workload.maps[-1].loops
    channel_first = output.index(channels[-1]) < output.index(image[0])
    pixels = sorted((*workload.role("batch"), *image))
    sides = (channels, pixels) if channel_first else (pixels, channels)
    operands = (kernel, gathered) if channel_first else (gathered, kernel)
    first, second = (1, 0) if channel_first else (0, 1)
    return MatrixProblem(
        tuple(math.prod(sizes[loop] for loop in group) for group in groups),
        _numbered(workload.role("depth"), number),
        _numbered(sides[0], number),
        _numbered(sides[1], number),
        _numbered(places, number),
        (workload.types[first], workload.types[second], workload.types[-1]),
        _numbered(operands[0], number),
        _numbered(operands[1], number),
        _numbered(pixels, number),
        _numbered(workload.role("batch"), number),
    )


def direct_problem(workload: Workload) -> MatrixProblem | None:
    """A convolution as it is: each step of its window is a multiplication (GPUTileAndConvertConvToMatmul).

    None for one without channels to multiply, or whose window moves by more than one pixel, which
    setDirectConvolutionLoweringConfig (ConfigUtils.cpp) leaves to IGEMM.
    """
    channels, image = workload.role("output_channel"), workload.role("output_image")
    inputs = workload.role("input_channel")
    if not (channels and image and inputs) or set(workload.parameter("strides")) - {1}:
        return None
    pixels = tuple(sorted((*workload.role("batch"), *image)))
    types = (workload.types[0], workload.types[1], workload.types[-1])
    left = tuple(index.terms[0][0] for index in workload.maps[0].results)
    right = workload.maps[1].loops
    depth, reduced = workload.role("depth"), (*workload.role("filter"), *inputs)
    return MatrixProblem(workload.loops, depth, pixels, channels, reduced, types, left, right)


def _numbered(loops: Sequence[int], number: dict[int, int]) -> Group:
    return tuple(dict.fromkeys(number[loop] for loop in loops))


def _image_order(workload: Workload) -> list[int]:
    """The loops that walk the gathered image's dimensions (buildExpandedInputGEMMResults)."""
    image, window = workload.role("output_image"), workload.role("filter")
    channels = workload.role("input_channel")
    order: list[int] = []
    for index in workload.maps[0].results:
        found = [loop for loop, _ in index.terms]
        pixel = [loop for loop in found if loop in image]
        loop = pixel[0] if pixel else found[0]
        if loop not in window and loop not in order:
            order.append(loop)
    for pixel, tap in zip(image, window, strict=True):
        order.insert(_place_of_tap(order, order.index(pixel), channels, window), tap)
    return order


def _place_of_tap(order: list[int], pixel: int, channels: Group, window: Group) -> int:
    """Before the next channel; else behind the previous one and its taps (insertFilterLoopDims)."""
    after = [i for i, loop in enumerate(order) if loop in channels and i > pixel]
    if after:
        return after[0]
    place = max(i for i, loop in enumerate(order) if loop in channels) + 1
    while place < len(order) and order[place] in window:
        place += 1
    return place


def _collapsed(workload: Workload, *maps: list[int]) -> list[list[int]]:
    """Groups of loops that become one: neighboring reductions that stay neighbors in both operands."""
    groups: list[list[int]] = []
    for loop, kind in enumerate(workload.iterators):
        before = groups[-1][-1] if groups else None
        joins = kind == "reduction" and before is not None and workload.iterators[before] == "reduction"
        if joins and before is not None and all(each.index(loop) == each.index(before) + 1 for each in maps):
            groups[-1].append(loop)
        else:
            groups.append([loop])
    return groups


@dataclass(frozen=True)
class Roles:
    """The roles of a convolution's loops for the matrix instructions that compute it.

    `rows` and `columns` are loops whose products are m and n; the last of each is cut into instructions. The
    knob of the reduction tile is named for `depth_loop`; there are `depth` values of k to cut into
    instructions.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth_loop: int
    depth: int

    @property
    def parallel(self) -> tuple[int, ...]:
        """The loops that have workgroup tiles, ascending."""
        return tuple(sorted(self.rows + self.columns))


def roles_of(draft: Draft) -> Roles:
    """Pixels are the rows and output channels the columns, except for IGEMM with the channels outside.

    There the filter becomes the left operand (getExpandedIGEMMGenericConvDetails, LinalgExt/Utils/Utils.cpp).
    """
    workload = draft.workload
    pixels = tuple(sorted(workload.role("batch") + workload.role("output_image")))
    channels = workload.role("output_channel")
    channel = workload.role("input_channel")[-1]
    if not draft.igemm:
        return Roles(pixels, channels, channel, workload.loops[channel])
    depth = workload.reduction_length if fuses_reductions(draft) else workload.loops[channel]
    if channels_outside(workload):
        return Roles(channels, pixels, channel, depth)
    return Roles(pixels, channels, channel, depth)


def channels_outside(workload: Workload) -> bool:
    """Whether the output has its channels before the image: NCHW."""
    order = workload.maps[-1].loops
    return order.index(workload.role("output_channel")[-1]) < order.index(workload.role("output_image")[0])


def channels_inside(workload: Workload) -> bool:
    """Whether the channels are the innermost dimension of the image that is read: NHWC."""
    return workload.maps[0].loops[-1] == workload.role("input_channel")[-1]


def batch_inside(workload: Workload) -> bool:
    """Whether images of the batch are the innermost dimension of the input: CHWN."""
    return workload.maps[0].loops[-1] in workload.role("batch")[-1:]


def fuses_reductions(draft: Draft) -> bool:
    """Whether IGEMM makes one loop of the filter's loops and the input channels."""
    parallel = draft.workload.parallel
    return draft.igemm and len(ir.ArrayAttr(draft.entries["reduction"])) == len(parallel) + 1


def overpadded(size: int) -> int:
    """The size padded for better tiles, as by getMatmulOrIGEMMLoweringConfigAndWorkgroupSize."""
    return round_up(size, 128 if size > 128 else 32 if size > 32 else 1)


def pads(draft: Draft) -> bool:
    """Whether the compiler itself configures padding: if it would pad for better tiles, or must."""
    workload, roles = draft.workload, roles_of(draft)
    sizes = [workload.loops[loop] for loop in roles.parallel]
    if any(overpadded(size) != size for size in sizes):
        return True
    inner = (workload.loops[roles.rows[-1]], workload.loops[roles.columns[-1]], roles.depth)
    return not any(divides(mma, inner) for mma in draft.mma())
