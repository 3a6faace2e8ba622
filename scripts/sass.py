"""Machine code of CUDA kernels (SASS): reads the listings of cuobjdump, finds the paths through a kernel and its loops,
and counts what a thread does there. For scripts/gpu-predictions."""
import dataclasses
import heapq
import os
import re
import subprocess
import sys

CALL = 200  # instructions of a called slow path, roughly

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,6})\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
NAME = re.compile(r"Function : (\S+)")
USAGE = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:\d+ SHARED:(\d+)")
NOISE = re.compile(r"\(anonymous namespace\)::|\bonebit::|\bdevice::|\bcuda::|\bdetail::"
                   r"|\((?:onebit::)?(?:compress::)?Feed\)")
DOUBLE = r"D(ADD|MUL|FMA|SETP)\b"
SLOW_UNIT = r"MUFU|F2[FI]|I2F|FRND|FCHK|POPC|FLO"  # 16 lanes of a multiprocessor
MEMORY = r"LD[GSL]|ST[GSL]|RED|ATOM|SHFL|MATCH"    # 32 lanes
LOCAL = r"SHFL|BAR|MATCH|ATOMS"
GLOBAL = re.compile(r"(LDG|STG)\.E\b(?:\.([US]?\d+))?")


@dataclasses.dataclass
class Instruction:
    address: int
    guard: str
    opcode: str
    operands: str

    def target(self):
        """The address to which a branch goes; None for other instructions."""
        found = re.search(r"0x([0-9a-f]+)\)?$", self.operands)
        return int(found.group(1), 16) if self.opcode.startswith("BRA") and found else None

    def always(self):
        return not self.guard and not re.search(r"\bU?P\d", self.operands)

    def bytes(self):
        """Bytes of a thread's access to the GPU's memory."""
        width = GLOBAL.match(self.opcode)
        return int((width.group(2) or "32").lstrip("US")) // 8 if width else 0

    def reads(self):
        own = self.operands if re.match("ST|RED|BRA", self.opcode) else self.operands.partition(",")[2]
        registers = {int(r) for r in re.findall(r"\bR(\d+)", own)}
        return registers | {r + 1 for r in registers} if re.match(DOUBLE, self.opcode) else registers

    def writes(self):
        """Registers that the instruction may write; too many rather than too few."""
        found = re.match(r"R(\d+)", self.operands)
        wide = 4 if ".128" in self.opcode else 2 if re.search(r"\.64|WIDE|^D[AFM]|CS2R|F64", self.opcode) else 1
        return set(range(int(found.group(1)), int(found.group(1)) + wide)) if found else set()

    def loads(self):
        """Registers that a load from the GPU's memory writes."""
        return self.writes() if self.opcode.startswith("LDG") else set()

    def address_of_load(self):
        """The registers and the text of the address of a load from the GPU's memory."""
        found = re.search(r"\[R(\d+)\.64[^\]]*\]", self.operands)
        if not found or not self.opcode.startswith("LDG"):
            return None
        return frozenset({int(found.group(1)), int(found.group(1)) + 1}), found.group(0)


def marks(code, pattern):
    """The number of instructions whose opcode matches the pattern."""
    return sum(1 for i in code if re.match(pattern, i.opcode))


@dataclasses.dataclass
class Kernel:
    name: str
    instructions: list = dataclasses.field(default_factory=list)
    registers: int = 0
    shared: int = 0


def short(name):
    """A demangled name without common prefixes and without its parameters."""
    name = NOISE.sub("", name.removeprefix("void ")).replace(" >", ">")
    depth = 0
    for i, character in enumerate(name):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "(" and depth == 0:
            return name[:i]
    return name


def demangled(names):
    said = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return [short(name) for name in said.stdout.splitlines()]


def parse(code, usage):
    """The kernels of a listing of cuobjdump -sass, with the figures of cuobjdump -res-usage."""
    kernels = []
    for line in code.splitlines():
        if match := NAME.search(line):
            kernels.append(Kernel(match.group(1)))
        elif kernels and (match := INSTRUCTION.search(line)):
            kernels[-1].instructions.append(Instruction(int(match.group(1), 16), (match.group(2) or "").strip(),
                                                        match.group(3), match.group(4)))
    used = {name: (int(registers), int(shared)) for name, registers, shared in USAGE.findall(usage)}
    for kernel, name in zip(kernels, demangled([kernel.name for kernel in kernels])):
        kernel.registers, kernel.shared = used.get(kernel.name, (0, 0))
        kernel.name = name
    return kernels


class Blocks:
    """The basic blocks of a kernel. The last one, `end`, is empty."""

    def __init__(self, kernel):
        code = kernel.instructions
        place = {instruction.address: i for i, instruction in enumerate(code)}
        starts = {0}
        for i, instruction in enumerate(code):
            if instruction.target() is not None:
                starts.add(place[instruction.target()])
            if re.match("BRA|EXIT|RET|BRX", instruction.opcode):
                starts.add(i + 1)
        edges = sorted(starts | {len(code)})
        self.blocks = [code[a:b] for a, b in zip(edges, edges[1:])]
        self.end = len(self.blocks)
        block_at = {a: k for k, a in enumerate(edges)}
        self.next = [self.successors(k, lambda address: block_at[place[address]]) for k in range(self.end)]
        self.cost = [sum(CALL if i.opcode.startswith("CALL") else 1 for i in block) for block in self.blocks] + [0]

    def successors(self, k, at):
        last = self.blocks[k][-1]
        if last.target() is not None:
            return [at(last.target())] + ([] if last.always() else [k + 1])
        if re.match("EXIT|RET", last.opcode):
            return [self.end] + ([] if last.always() else [k + 1])
        return [] if last.opcode.startswith("BRX") else [k + 1]

    def hottest(self, mark):
        return max(range(self.end), key=lambda k: marks(self.blocks[k], mark))

    def way(self, start, goal):
        """The blocks of the shortest path from start to goal, without the goal; None if there is none. From a block to
        itself, it is the shortest loop."""
        queue, came = [(self.cost[start], after, start) for after in self.next[start]], {}
        while queue and goal not in came:
            cost, k, before = heapq.heappop(queue)
            if k in came:
                continue
            came[k] = before
            for after in self.next[k] if k < self.end else []:
                heapq.heappush(queue, (cost + self.cost[k], after, k))
        if goal not in came:
            return None
        found = [came[goal]]
        while found[-1] != start:
            found.append(came[found[-1]])
        return found[::-1]

    def loops(self):
        """First and last block of every loop."""
        return [(after, k) for k in range(self.end) for after in self.next[k] if after <= k]

    def longest(self, first, last):
        """The blocks of the longest path from first to last that goes forward and calls nothing, or []."""
        best = {first: (self.cost[first], None)}
        for k in range(first, last):
            for after in self.next[k] if k in best else []:
                if k < after <= last and self.cost[after] < CALL + len(self.blocks[after]) - 1:
                    best[after] = max(best.get(after, (0, None)), (best[k][0] + self.cost[after], k))
        way, k = [], last if last in best else None
        while k is not None:
            way.append(k)
            k = best[k][1]
        return way[::-1]

    def tightest(self, mark, also):
        """The loop in which `mark` is most frequent among those that contain `also`: first block, last block, code."""
        found = [(first, last, self.code(self.longest(first, last))) for first, last in self.loops()]
        found = [loop for loop in found if marks(loop[2], mark) and (not also or marks(loop[2], also))]
        return max(found, key=lambda loop: (marks(loop[2], mark) / len(loop[2]), -loop[0]))

    def around(self, first, last):
        """The smallest loop around a loop."""
        outer = [(b - a, a, b) for a, b in self.loops() if a < first and b > last]
        return min(outer)[1:]

    def code(self, blocks):
        return [i for k in blocks for i in self.blocks[k]]


@dataclasses.dataclass
class Counts:
    """What a thread issues and requests for one element."""
    instructions: float = 0
    memory: float = 0   # instructions that access any memory, or other threads' registers
    double: float = 0
    slow: float = 0
    bytes: float = 0    # requested by loads from and stores to the GPU's memory
    waits: float = 0    # times that the thread waits for a load from the GPU's memory
    local: float = 0    # times that it waits for something near: a cache, a barrier, another thread's register

    def plus(self, other, times=1.0):
        return Counts(*(a + times * b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def divided(self, n):
        return Counts(*(a / n for a in dataclasses.astuple(self)))


def counts(code):
    """Counts of one pass through the code. Loads of bytes, which other elements share, and repeated loads from
    the same address count as near: they mostly hit the cache of the multiprocessor."""
    pending, near, seen, waits, local = set(), set(), set(), 0, marks(code, LOCAL)
    for instruction in code:
        if pending & instruction.reads():
            pending, near, waits = set(), set(), waits + 1
        elif near & instruction.reads():
            near, local = set(), local + 1
        address = instruction.address_of_load()
        (near if address in seen or ".U8" in instruction.opcode else pending).update(instruction.loads())
        seen = {other for other in seen if not other[0] & instruction.writes()} | ({address} if address else set())
    return Counts(len(code), marks(code, MEMORY), marks(code, DOUBLE), marks(code, SLOW_UNIT),
                  sum(i.bytes() for i in code), waits, local)


def listing(tool, *arguments):
    folder = os.environ.get("CUDA_TOOLS", "")
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"} if folder else None  # for nvdisasm
    try:
        return subprocess.run([os.path.join(folder, tool), *arguments], capture_output=True, text=True, check=True,
                              env=environment).stdout
    except FileNotFoundError:
        sys.exit(f"{tool} was not found: set CUDA_TOOLS to its folder")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{tool}: {error.stderr.strip()}")


def read(build):
    """The sm_90 kernels of a build, by name."""
    found = {}
    for path in [build] if build.is_file() else sorted(build.rglob("*.cu.o")):
        options = ["-arch", "sm_90", str(path)]
        for kernel in parse(listing("cuobjdump", "-sass", *options), listing("cuobjdump", "-res-usage", *options)):
            found[kernel.name] = kernel
    return found
