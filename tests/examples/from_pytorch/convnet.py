"""A small convolutional network in PyTorch. It writes convnet.mlir, which is all that the C program needs of PyTorch.
"""

import re

import torch
from torch_xla.stablehlo import VariableType, exported_program_to_stablehlo


class ConvNet(torch.nn.Module):
    """Computes ten probabilities for a picture of 12 x 12 pixels."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.second = torch.nn.Conv2d(4, 8, 3)
        self.last = torch.nn.Linear(8 * 2 * 2, 10)

    def forward(self, picture):
        x = torch.nn.functional.max_pool2d(torch.relu(self.first(picture)), 2)
        x = torch.nn.functional.max_pool2d(torch.relu(self.second(x)), 2)
        return torch.softmax(self.last(x.flatten(1)), dim=1)


def text_of(exported):
    """Return the StableHLO text of an exported program. torch_xla passes weights as arguments; here they become
    constants, and the other arguments get their names.
    """
    model = exported_program_to_stablehlo(exported)._bundle
    (function,) = model.stablehlo_funcs
    text, constants = function.text, []
    for number, place in enumerate(function.meta.input_locations):
        if place.type_ == VariableType.INPUT_ARG:
            text = re.sub(rf"%arg{number}\b", "%" + exported.graph_signature.user_inputs[place.position], text)
            continue
        values = model.state_dict[place.name] if place.type_ == VariableType.PARAMETER else model.additional_constants[place.position]
        argument = re.search(rf"%arg{number}: (tensor<[^>]*>)(?:, )?", text)
        text = text.replace(argument[0], "", 1)
        constants.append(f'    %arg{number} = stablehlo.constant dense<"0x{values.tobytes().hex()}"> : {argument[1]}\n')
    head, line, rest = re.split(r"(func\.func @main.*\n)", text, maxsplit=1)
    return head + line + "".join(constants) + rest


if __name__ == "__main__":
    torch.manual_seed(0)
    net = ConvNet().eval()
    picture = torch.arange(144).reshape(1, 1, 12, 12) % 7 / 7
    print("torch:", *(f"{x:.4f}" for x in net(picture)[0]))
    open("convnet.mlir", "w").write(text_of(torch.export.export(net, (picture,))))
