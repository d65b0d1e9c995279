//go:build kubernetes1.34 && !kubernetes1.35

package main

import (
	staged "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Where Kubernetes 1.34 keeps what a plugin is written with: half of it has moved.
type (
	CycleState = staged.CycleState
	Handle     = framework.Handle
	Plugin     = framework.Plugin
	Status     = staged.Status
)

const (
	Unschedulable = staged.Unschedulable
	Wait          = staged.Wait
)

var (
	AsStatus  = staged.AsStatus
	NewStatus = staged.NewStatus
)
