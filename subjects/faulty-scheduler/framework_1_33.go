//go:build !kubernetes1.34

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

// Where Kubernetes 1.33 keeps what a plugin is written with.
type (
	CycleState = *framework.CycleState
	Handle     = framework.Handle
	Plugin     = framework.Plugin
	Status     = framework.Status
)

const (
	Unschedulable = framework.Unschedulable
	Wait          = framework.Wait
)

var (
	AsStatus  = framework.AsStatus
	NewStatus = framework.NewStatus
)
