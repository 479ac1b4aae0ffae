"""Dispatches and programs on a device: loading and running them, their memory, inputs, values and sensors.

Says nothing about whether values are right (`check`) or fast (`measure`). Its modules import lazily what
needs the runtime.
"""
