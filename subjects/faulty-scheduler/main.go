// faulty-scheduler is kube-scheduler with one more plugin, Fault, which fails where a pod's annotation
// hintbound.dev/fault tells it to. All other pods are scheduled as ever.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const (
	name  = "Fault"
	order = "hintbound.dev/fault"
)

// fault obeys the order that a pod has at the moment of an attempt:
//
//	reserve-rejected, reserve-error   Reserve says no, or breaks
//	permit-rejected, permit-error     Permit says no, or breaks
//	permit-waits=DURATION             the pod waits on Permit; it is let go when the annotation is removed,
//	                                  and rejected when DURATION (e.g. 2s) is over
type fault struct{}

func (fault) Name() string { return name }

func (fault) Reserve(_ context.Context, _ CycleState, pod *v1.Pod, _ string) *Status {
	return obey(pod, "reserve")
}

func (fault) Unreserve(context.Context, CycleState, *v1.Pod, string) {}

func (fault) Permit(_ context.Context, _ CycleState, pod *v1.Pod, _ string) (*Status, time.Duration) {
	if text, found := strings.CutPrefix(pod.Annotations[order], "permit-waits="); found {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return AsStatus(fmt.Errorf("annotation %s: %w", order, err)), 0
		}
		return NewStatus(Wait), duration
	}
	return obey(pod, "permit"), 0
}

func obey(pod *v1.Pod, point string) *Status {
	switch pod.Annotations[order] {
	case point + "-rejected":
		return NewStatus(Unschedulable, "rejected in "+point+", as ordered")
	case point + "-error":
		return AsStatus(fmt.Errorf("broken in %s, as ordered", point))
	}
	return nil
}

func newFault(_ context.Context, _ runtime.Object, handle Handle) (Plugin, error) {
	_, err := handle.SharedInformerFactory().Core().V1().Pods().Informer().AddEventHandler(
		cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, updated any) {
			pod := updated.(*v1.Pod)
			if _, ordered := pod.Annotations[order]; ordered {
				return
			}
			if waiting := handle.GetWaitingPod(pod.UID); waiting != nil {
				waiting.Allow(name)
			}
		}},
	)
	return fault{}, err
}

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(name, newFault))))
}
