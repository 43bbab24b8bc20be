export { VirtualClock, type VirtualClockOptions } from '../clock-virtual.ts';
export * from './fake-clock.ts';
