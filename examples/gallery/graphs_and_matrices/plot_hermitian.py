"""
States, a channel and an image
==============================

Hermitian matrices on a real factor: a state of three qubits from noisy expectations of Pauli strings and from counts,
the channel nearest to a measured transfer matrix, also where entries are missing, and an image from the squared sizes
of its transforms through coded masks. Each answer comes with a proof that nothing fits better: see
:doc:`/applications/hermitian`.
"""

import itertools
from functools import reduce

import matplotlib.pyplot as plt
import numpy as np

from psdopt_plugins.hermitian import (
    PauliStrings,
    coded_masks,
    process_tomography,
    retrieve_phase,
    state_from_counts,
    state_tomography,
    transfer_matrix,
)

rng = np.random.default_rng(0)

# %%
# The state ``(|000> + i |111>)/√2``, from all 63 expectations, each with an error of 0.1.
strings = ["".join(each) for each in itertools.product("IXYZ", repeat=3)][1:]
pure = np.zeros((8, 1), dtype=complex)
pure[[0, 7], 0] = np.sqrt(0.5), 1j * np.sqrt(0.5)
seen = PauliStrings(strings).of(pure) + 0.1 * rng.standard_normal(63)
state = state_tomography(strings, seen)
overlap = np.vdot(pure, state.matrix @ pure).real
print(state.result)
print(f"overlap with the state {overlap:.3f}")

# %%
# The likeliest state from counts: each qubit measured in X, Y or Z, 100 shots in each of the 27 bases.
bases = ["".join(each) for each in itertools.product("XYZ", repeat=3)]
turned = {
    "X": np.array([[1, 1], [1, -1]]) / np.sqrt(2),
    "Y": np.array([[1, -1j], [1, 1j]]) / np.sqrt(2),
    "Z": np.eye(2),
}
chances = [
    np.abs(reduce(np.kron, [turned[letter] for letter in each]) @ pure[:, 0])
    ** 2
    for each in bases
]
likeliest = state_from_counts(
    bases, [rng.multinomial(100, each / each.sum()) for each in chances]
)
print(likeliest.result)
print(
    f"overlap with the state {np.vdot(pure, likeliest.matrix @ pure).real:.3f}"
)

# %%
# A qubit that loses its phase: an exact channel shrinks X and Y to 0.6. The measured matrix is no channel; the
# nearest one is, with traces preserved.
measured = np.diag([1.0, 0.6, 0.6, 1.0]) + 0.1 * rng.standard_normal((4, 4))
channel = process_tomography(measured)
print(channel.result)
print("eigenvalues", np.linalg.eigvalsh(channel.matrix).round(3) + 0.0)

# %%
# Two qubits and three Kraus operators: a third of the entries of the transfer matrix was not measured, and is found.
operators = rng.standard_normal((12, 4)) + 1j * rng.standard_normal((12, 4))
kraus = np.linalg.qr(operators)[0].reshape(3, 4, 4)
R = transfer_matrix(np.stack([K.T.ravel() for K in kraus], axis=1))
missing = rng.random(R.shape) < 1 / 3
found = process_tomography(np.where(missing, np.nan, R))
print(found.result)
print(
    f"largest error of an entry that was missing {np.abs(transfer_matrix(found.factor) - R)[missing].max():.0e}"
)

# %%
# An image of 24 × 24 pixels from eight coded masks: only squared sizes of the transforms were seen.
across, down = np.meshgrid(np.linspace(-1, 1, 24), np.linspace(-1, 1, 24))
image = 0.2 + (across**2 + down**2 < 0.7) - 0.8 * (across**2 + down**2 < 0.2)
masks = rng.choice([1, -1, 1j, -1j], (8, 24, 24))
masks = masks * np.where(rng.random(masks.shape) < 0.8, 0.5**0.5, 3.0**0.5)
X = coded_masks(masks)
found = retrieve_phase(X, np.abs(X.matvec(image.ravel())) ** 2)
turned = found.signal * np.exp(-1j * np.angle(found.signal.sum()))
print(f"largest error of a pixel {np.abs(turned - image.ravel()).max():.0e}")
print(f"least trace proven to {found.certificate.gap_relative:.0e}")

# %%
# Left the state and its estimate by the sizes of their entries, then the channel by its Choi matrix, right the image.
figure, panels = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for panel, matrix, title in [
    (panels[0], np.abs(pure @ pure.conj().T), "a state"),
    (panels[1], np.abs(state.matrix), "its estimate"),
    (panels[2], np.abs(channel.matrix), "Choi matrix"),
    (panels[3], turned.real.reshape(24, 24), "image from squares"),
]:
    panel.imshow(matrix, cmap="viridis")
    panel.set(title=title, xticks=[], yticks=[])
plt.show()
