"""Write a model of one matmul and a relu."""

import sys

import onnx
from onnx import TensorProto, helper

shapes = {"x": [32, 64], "w": [64, 48], "y": [32, 48]}
values = {
    name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()
}
nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
graph = helper.make_graph(nodes, "main", [values["x"], values["w"]], [values["y"]])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.save(model, sys.argv[1])
