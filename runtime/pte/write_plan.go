package pte

import "github.com/rules-pte/rules_pte/runtime/pte/internal/fb"

func (e *encoder) plan(p *ExecutionPlan) offset {
	b := e.Builder
	name, meta := e.string(p.Name), e.container(p)
	values := e.each(len(p.Values), func(i int) offset { return e.value(&p.Values[i]) })
	inputs, outputs := e.int32s(p.Inputs), e.int32s(p.Outputs)
	chains := e.each(len(p.Chains), func(i int) offset { return e.chain(&p.Chains[i]) })
	operators := e.each(len(p.Operators), func(i int) offset { return e.operator(p.Operators[i]) })
	delegates := e.each(len(p.Delegates), func(i int) offset { return e.delegate(&p.Delegates[i]) })
	sizes := vector(e, 8, p.NonConstBufferSizes, b.PrependInt64)
	var devices offset
	if len(p.NonConstBufferDevice) > 0 {
		devices = e.each(len(p.NonConstBufferDevice), func(i int) offset { return e.device(p.NonConstBufferDevice[i]) })
	}
	fb.ExecutionPlanStart(b)
	fb.ExecutionPlanAddName(b, name)
	fb.ExecutionPlanAddContainerMetaType(b, meta)
	fb.ExecutionPlanAddValues(b, values)
	fb.ExecutionPlanAddInputs(b, inputs)
	fb.ExecutionPlanAddOutputs(b, outputs)
	fb.ExecutionPlanAddChains(b, chains)
	fb.ExecutionPlanAddOperators(b, operators)
	fb.ExecutionPlanAddDelegates(b, delegates)
	fb.ExecutionPlanAddNonConstBufferSizes(b, sizes)
	fb.ExecutionPlanAddNonConstBufferDevice(b, devices)
	return fb.ExecutionPlanEnd(b)
}

func (e *encoder) container(p *ExecutionPlan) offset {
	in, out := e.string(p.EncodedInpStr), e.string(p.EncodedOutStr)
	fb.ContainerMetadataStart(e.Builder)
	fb.ContainerMetadataAddEncodedInpStr(e.Builder, in)
	fb.ContainerMetadataAddEncodedOutStr(e.Builder, out)
	return fb.ContainerMetadataEnd(e.Builder)
}

func (e *encoder) device(d NonConstBufferDevice) offset {
	fb.NonConstBufferDeviceStart(e.Builder)
	fb.NonConstBufferDeviceAddBufferIdx(e.Builder, d.BufferIdx)
	fb.NonConstBufferDeviceAddDeviceType(e.Builder, fb.DeviceType(d.DeviceType))
	fb.NonConstBufferDeviceAddDeviceIndex(e.Builder, d.DeviceIndex)
	return fb.NonConstBufferDeviceEnd(e.Builder)
}

func (e *encoder) operator(o Operator) offset {
	name, overload := e.string(o.Name), e.string(o.Overload)
	fb.OperatorStart(e.Builder)
	fb.OperatorAddName(e.Builder, name)
	fb.OperatorAddOverload(e.Builder, overload)
	return fb.OperatorEnd(e.Builder)
}

func (e *encoder) delegate(d *BackendDelegate) offset {
	b := e.Builder
	id := e.string(d.ID)
	specs := e.each(len(d.CompileSpecs), func(i int) offset {
		key, value := e.string(d.CompileSpecs[i].Key), b.CreateByteVector(d.CompileSpecs[i].Value)
		fb.CompileSpecStart(b)
		fb.CompileSpecAddKey(b, key)
		fb.CompileSpecAddValue(b, value)
		return fb.CompileSpecEnd(b)
	})
	fb.BackendDelegateDataReferenceStart(b)
	if n := e.l.delegates[d.Processed]; n >= 0 {
		fb.BackendDelegateDataReferenceAddLocation(b, fb.DataLocationSEGMENT)
		fb.BackendDelegateDataReferenceAddIndex(b, uint32(n))
	}
	processed := fb.BackendDelegateDataReferenceEnd(b)
	fb.BackendDelegateStart(b)
	fb.BackendDelegateAddId(b, id)
	fb.BackendDelegateAddProcessed(b, processed)
	fb.BackendDelegateAddCompileSpecs(b, specs)
	return fb.BackendDelegateEnd(b)
}

func (e *encoder) chain(c *Chain) offset {
	inputs, outputs := e.int32s(c.Inputs), e.int32s(c.Outputs)
	instructions := e.each(len(c.Instructions), func(i int) offset { return e.instruction(&c.Instructions[i]) })
	var trace offset
	if len(c.Stacktrace) > 0 {
		trace = e.each(len(c.Stacktrace), func(i int) offset { return e.frames(c.Stacktrace[i]) })
	}
	fb.ChainStart(e.Builder)
	fb.ChainAddInputs(e.Builder, inputs)
	fb.ChainAddOutputs(e.Builder, outputs)
	fb.ChainAddInstructions(e.Builder, instructions)
	fb.ChainAddStacktrace(e.Builder, trace)
	return fb.ChainEnd(e.Builder)
}

func (e *encoder) frames(list []Frame) offset {
	b := e.Builder
	items := e.each(len(list), func(i int) offset {
		file, name, context := e.string(list[i].Filename), e.string(list[i].Name), e.string(list[i].Context)
		fb.FrameStart(b)
		fb.FrameAddFilename(b, file)
		fb.FrameAddLineno(b, list[i].Lineno)
		fb.FrameAddName(b, name)
		fb.FrameAddContext(b, context)
		return fb.FrameEnd(b)
	})
	fb.FrameListStart(b)
	fb.FrameListAddItems(b, items)
	return fb.FrameListEnd(b)
}

func (e *encoder) instruction(in *Instruction) offset {
	b := e.Builder
	var args, call offset
	if in.Type == KernelCall || in.Type == DelegateCall {
		args = e.int32s(in.Args)
	}
	// All instructions have the same two first fields, A and then B or Args.
	b.StartObject(2)
	b.PrependInt32Slot(0, in.A, 0)
	if args != 0 {
		b.PrependUOffsetTSlot(1, args, 0)
	} else if in.Type == MoveCall || in.Type == JumpFalseCall {
		b.PrependInt32Slot(1, in.B, 0)
	}
	call = b.EndObject()
	fb.InstructionStart(b)
	fb.InstructionAddInstrArgsType(b, fb.InstructionArguments(in.Type))
	fb.InstructionAddInstrArgs(b, call)
	return fb.InstructionEnd(b)
}

func (e *encoder) value(v *EValue) offset {
	val := e.member(v)
	fb.EValueStart(e.Builder)
	fb.EValueAddValType(e.Builder, fb.KernelTypes(v.Type))
	fb.EValueAddVal(e.Builder, val)
	return fb.EValueEnd(e.Builder)
}

// member encodes the union's table; all but Tensor have one field.
func (e *encoder) member(v *EValue) offset {
	b := e.Builder
	var list offset
	switch v.Type {
	case TensorValue:
		return e.tensor(v.Tensor)
	case String:
		list = e.string(v.String)
	case DoubleList:
		list = vector(e, 8, v.Doubles, b.PrependFloat64)
	case IntList:
		list = vector(e, 8, v.Items, b.PrependInt64)
	case BoolList:
		list = vector(e, 1, v.Items, func(x int64) { b.PrependBool(x != 0) })
	case TensorList, OptionalTensorList:
		list = vector(e, 4, v.Items, func(x int64) { b.PrependInt32(int32(x)) })
	}
	b.StartObject(1)
	switch v.Type {
	case Null:
	case Int:
		b.PrependInt64Slot(0, v.Int, 0)
	case Bool:
		b.PrependBoolSlot(0, v.Int != 0, false)
	case Double:
		if v.Double != 0 || 1/v.Double < 0 { // -0 has to be stored
			b.PrependFloat64(v.Double)
			b.Slot(0)
		}
	default:
		b.PrependUOffsetTSlot(0, list, 0)
	}
	return b.EndObject()
}

func (e *encoder) tensor(t *Tensor) offset {
	b := e.Builder
	sizes, order := e.int32s(t.Sizes), b.CreateByteVector(t.DimOrder)
	allocation, extra := e.allocation(t.Allocation), e.extra(t.Extra)
	fb.TensorStart(b)
	fb.TensorAddScalarType(b, fb.ScalarType(t.ScalarType))
	fb.TensorAddStorageOffset(b, t.StorageOffset)
	fb.TensorAddSizes(b, sizes)
	fb.TensorAddDimOrder(b, order)
	fb.TensorAddRequiresGrad(b, t.RequiresGrad)
	fb.TensorAddDataBufferIdx(b, t.DataBufferIdx)
	fb.TensorAddAllocationInfo(b, allocation)
	fb.TensorAddLayout(b, t.Layout)
	fb.TensorAddShapeDynamism(b, fb.TensorShapeDynamism(t.Dynamism))
	fb.TensorAddExtraTensorInfo(b, extra)
	return fb.TensorEnd(b)
}

func (e *encoder) allocation(a *Allocation) offset {
	if a == nil {
		return 0
	}
	fb.AllocationDetailsStart(e.Builder)
	fb.AllocationDetailsAddMemoryId(e.Builder, a.MemoryID)
	fb.AllocationDetailsAddMemoryOffsetLow(e.Builder, uint32(a.Offset))
	fb.AllocationDetailsAddMemoryOffsetHigh(e.Builder, uint32(a.Offset>>32))
	return fb.AllocationDetailsEnd(e.Builder)
}

func (e *encoder) extra(x *ExtraTensorInfo) offset {
	if x == nil {
		return 0
	}
	var name offset
	if x.FullyQualifiedName != "" {
		name = e.string(x.FullyQualifiedName)
	}
	fb.ExtraTensorInfoStart(e.Builder)
	fb.ExtraTensorInfoAddMutableDataSegmentsIdx(e.Builder, x.MutableDataSegmentsIdx)
	fb.ExtraTensorInfoAddFullyQualifiedName(e.Builder, name)
	fb.ExtraTensorInfoAddLocation(e.Builder, fb.TensorDataLocation(x.Location))
	fb.ExtraTensorInfoAddDeviceType(e.Builder, fb.DeviceType(x.DeviceType))
	fb.ExtraTensorInfoAddDeviceIndex(e.Builder, x.DeviceIndex)
	return fb.ExtraTensorInfoEnd(e.Builder)
}
